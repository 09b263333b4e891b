//! Tables of folders and labels.

use alloc::string::String;

use crate::record::{choice, count, id, per_page, text};
use crate::{choice, record};

choice! {
    /// Color in which a folder or label is shown.
    pub enum Color {
        /// Gray.
        Gray = "gray",
        /// Slate: a bluish gray.
        Slate = "slate",
        /// Red.
        Red = "red",
        /// Orange.
        Orange = "orange",
        /// Amber: a yellowish orange.
        Amber = "amber",
        /// Green.
        Green = "green",
        /// Teal: a bluish green.
        Teal = "teal",
        /// Blue.
        Blue = "blue",
        /// Purple.
        Purple = "purple",
        /// Pink.
        Pink = "pink",
    }
}

record! {
    /// Body of `POST /user/folder` and `POST /user/label`.
    pub struct NewFolder {
        /// Name, unique among the account's folders, or labels, whatever the case of its letters.
        name: String = text(1, 255).required(),
        /// Color in which it is shown; none when not given.
        color: Option<Color> = choice::<Color>().clears(),
    }
}

record! {
    /// A folder, or a label, of assistants.
    pub struct Folder {
        /// Id, as in an assistant's `folder_id` or `label_ids`.
        id: u64 = id().required(),
        /// Name, unique among the account's folders, or labels.
        name: String = text(0, 255).required(),
        /// Color in which it is shown; null: none.
        color: Option<Color> = choice::<Color>(),
        /// Assistants in the folder, or with the label.
        assistants_count: u32 = count().required(),
    }
}

record! {
    /// A stored folder or label.
    pub struct FolderRow stored as "a folder" {
        /// Name as it was given.
        name: String = text(0, 255).required(),
        /// Color in which it is shown.
        color: Option<Color> = choice::<Color>(),
    }
}

record! {
    /// Query of `GET /user/folders` and `GET /user/labels`.
    pub struct FolderQuery {
        /// Number of rows per page.
        per_page: u32 = per_page(15),
        /// Page number, from 1.
        page: u64 = id().or_int(1),
    }
}
