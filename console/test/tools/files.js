// Which files of the console are served; its widget goes to other pages, in one file.

import { readdirSync, statSync } from "node:fs";

/** Files that are served, by path. @param {string} folder @returns {string[]} */
export function files(folder) {
  return readdirSync(folder).flatMap((name) => {
    const path = `${folder}${name}`;
    if (/^(node_modules|test|widget|\..*)$|\.d\.ts$|\.md$|^(package|package-lock|tsconfig|versions)\.json$/.test(name))
      return [];
    return statSync(path).isDirectory() ? files(`${path}/`) : [path];
  });
}
