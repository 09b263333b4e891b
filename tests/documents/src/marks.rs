//! The comments that mark the generated parts of a page.

const BEGIN: &str = "<!-- generated: ";
const END: &str = "<!-- end of generated -->";

/// Returns the page with each generated part replaced by `part`'s text for the name in its mark.
pub fn filled(page: &str, part: impl Fn(&str) -> Result<String, String>) -> Result<String, String> {
    let mut out = String::with_capacity(page.len());
    let mut rest = page;
    while let Some((before, marked)) = rest.split_once(BEGIN) {
        let (name, inner) = marked.split_once(" -->").ok_or("a mark has no end")?;
        let (_, after) = inner.split_once(END).ok_or_else(|| format!("the part \"{name}\" has no end"))?;
        out.push_str(before);
        [BEGIN, name, " -->\n", &part(name)?, END].iter().for_each(|piece| out.push_str(piece));
        rest = after;
    }
    out.push_str(rest);
    Ok(out)
}

/// Returns the names of a page's generated parts, in order.
pub fn names(page: &str) -> Vec<&str> {
    page.split(BEGIN).skip(1).filter_map(|rest| Some(rest.split_once(" -->")?.0)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_replaced_between_their_marks() {
        let page = "a\n<!-- generated: x y -->\nold\n<!-- end of generated -->\nb\n";
        let made = filled(page, |name| Ok(format!("new {name}\n"))).expect("a page");
        assert_eq!(made, "a\n<!-- generated: x y -->\nnew x y\n<!-- end of generated -->\nb\n");
        assert_eq!(filled(&made, |name| Ok(format!("new {name}\n"))), Ok(made.clone()));
        assert_eq!(names(&made), ["x y"]);
        assert!(filled("<!-- generated: x -->\n", |_| Ok(String::new())).is_err());
    }
}
