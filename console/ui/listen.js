// A sample that is listened to. Nothing of it loads before the button is pressed.

import { text } from "../text.js";
import { html, useEffect, useRef, useState } from "./base.js";
import { complain } from "./toast.js";

/** @param {{ url: string, name: string }} props */
export function Listen({ url, name }) {
  const [playing, setPlaying] = useState(false);
  const sound = useRef(/** @type {HTMLAudioElement | null} */ (null));
  const stop = () => {
    sound.current?.pause();
    sound.current = null;
    setPlaying(false);
  };
  useEffect(() => stop, [url]);
  const play = async () => {
    const one = (sound.current = new Audio(url));
    one.addEventListener("ended", stop);
    setPlaying(true);
    try {
      await one.play();
    } catch {
      // A sample that was stopped before it began is no error.
      if (sound.current !== one) return;
      stop();
      complain(new Error(text.form.noSample));
    }
  };
  return html`<button type="button" aria-label=${`${playing ? text.form.stop : text.form.listen}: ${name}`}
    onClick=${playing ? stop : play}>${playing ? text.form.stop : text.form.listen}</button>`;
}
