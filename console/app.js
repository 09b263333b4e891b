// The console's start: signs in where the service remembers the browser, then shows the page of the address.

import { enter } from "./login.js";
import { follow } from "./router.js";
import * as theme from "./theme.js";
import { html, render } from "./ui/base.js";
import { listen } from "./ui/keys.js";
import { Shell } from "./ui/shell.js";

theme.apply();
follow();
listen();
await enter();
const place = /** @type {HTMLElement} */ (document.getElementById("app"));
place.replaceChildren();
render(html`<${Shell} />`, place);
