/**
 * Reads of one run over several spaces. Used by the Durable Objects storage only.
 *
 * All that a run has read must have been stored at one moment. Its own space is read first and looked at again
 * last. Of the others, a single one is looked at by its answer; several are looked at again once all answers are
 * here. What is looked at again and still holds was the same in between.
 *
 * @import { Found, Read, Reading } from "./storage.d.ts"
 * @import { Peer, Pictures, SpacePicture } from "./durable-object.d.ts"
 * @import { Participant } from "./durable-object-participant.js"
 * @import { Space } from "./durable-object-space.js"
 * @typedef {Map<string, { at: number[], reads: Read[] }>} Groups reads by space, with their places
 */

import { rangesOf, restOf, seenRanges, spaceOfRead } from "./durable-object-ranges.js";

/** Times that a read without pictures begins again because of commits that came between. */
const TRIES_MAX = 1_000;

export class Reader {
  /**
   * @param {string} own the name of the own space
   * @param {Space} space
   * @param {Participant} participant
   * @param {(space: string) => Peer} peer
   */
  constructor(own, space, participant, peer) {
    this.own = own;
    this.space = space;
    this.participant = participant;
    this.peer = peer;
  }

  /**
   * @param {Read[]} reads
   * @param {Pictures} [pictures]
   * @returns {Reading<Pictures> | null | Promise<Reading<Pictures> | null>}
   */
  read(reads, pictures) {
    const groups = grouped(reads);
    if (this.#isHere(groups, pictures)) return this.#readHere(reads, pictures);
    return this.#readAcross(groups, reads.length, pictures);
  }

  /**
   * Whether the own space alone has to be looked at, now: nothing of it is hidden, and other spaces that the run
   * has seen were looked at when it was the same.
   *
   * @param {Groups} groups
   * @param {Pictures} [pictures]
   */
  #isHere(groups, pictures = {}) {
    const ownGroup = groups.get(this.own);
    if (groups.size > (ownGroup ? 1 : 0)) return false;
    const seen = pictures[this.own];
    if (this.#others(pictures).length > 0 && seen?.commits !== this.space.commits) return false;
    return !this.participant.hides([...(seen?.ranges ?? []), ...(ownGroup?.reads ?? []).flatMap(rangesOf)]);
  }

  /**
   * @param {Read[]} reads
   * @param {Pictures} [pictures]
   */
  #readHere(reads, pictures) {
    if (pictures?.[this.own] && !this.space.holds(pictures[this.own])) return null;
    const { found } = this.space.find(reads);
    return { found, picture: { ...pictures, [this.own]: this.#picture(pictures?.[this.own], reads, found) } };
  }

  /**
   * @param {Groups} groups
   * @param {number} count
   * @param {Pictures} [pictures]
   */
  async #readAcross(groups, count, pictures) {
    for (let tries = 0; tries < TRIES_MAX; tries++) {
      const reading = await this.#attempt(groups, count, { ...pictures });
      if (reading !== null || pictures !== undefined) return reading;
    }
    throw new Error(`other commits came between in ${TRIES_MAX} tries to read`);
  }

  /**
   * @param {Groups} groups
   * @param {number} count
   * @param {Pictures} pictures are changed to those of the reading
   * @returns {Promise<Reading<Pictures> | null>}
   */
  async #attempt(groups, count, pictures) {
    /** @type {Found[]} */
    const found = Array(count);
    pictures[this.own] ??= { commits: this.space.commits, ranges: [] };
    const fill = (/** @type {number[]} */ at, /** @type {Found[]} */ results) =>
      at.forEach((place, n) => (found[place] = results[n]));
    const ownGroup = groups.get(this.own);
    if (ownGroup) {
      const ranges = ownGroup.reads.flatMap(rangesOf);
      const reading = await this.participant.whenShown(ranges, () => this.#readHere(ownGroup.reads, pictures));
      if (reading === null) return null;
      pictures[this.own] = reading.picture[this.own];
      fill(ownGroup.at, reading.found);
    }
    const others = [...groups].filter(([name]) => name !== this.own);
    const fetched = await Promise.all(others.map(([name, { reads }]) => this.#fetch(name, reads, pictures[name])));
    for (const [n, [name, { at }]] of others.entries()) {
      const results = fetched[n];
      if (results === null) return null;
      fill(at, results.found);
      pictures[name] = results.picture;
    }
    return (await this.#stillHold(pictures, others.length)) ? { found, picture: pictures } : null;
  }

  /**
   * Looks again at what must be looked at again, when `asked` other spaces have just been read.
   *
   * @param {Pictures} pictures
   * @param {number} asked
   */
  async #stillHold(pictures, asked) {
    const others = this.#others(pictures);
    if (others.length > 1 || asked === 0) {
      const looks = others.map(async (name) => {
        const answer = await this.peer(name).read({ reads: [], picture: pictures[name], wait: true });
        if (answer !== null) pictures[name] = { commits: answer.commits, ranges: pictures[name].ranges };
        return answer !== null;
      });
      if ((await Promise.all(looks)).includes(false)) return false;
    }
    // Its count stays that of before: rows that are read later were the same when the others were looked at.
    const seen = pictures[this.own];
    return this.participant.whenShown(seen.ranges, () => this.space.holds(seen));
  }

  /** The other spaces that a run has seen. @param {Pictures} pictures */
  #others(pictures) {
    return Object.keys(pictures).filter((name) => name !== this.own);
  }

  /**
   * Reads another space, in as many calls as the answers need.
   *
   * @param {string} name
   * @param {Read[]} reads
   * @param {SpacePicture} [picture]
   * @returns {Promise<{ found: Found[], picture: SpacePicture } | null>}
   */
  async #fetch(name, reads, picture) {
    /** @type {Found[]} */
    const found = [];
    const ranges = [...(picture?.ranges ?? [])];
    let rest = reads;
    let seen = picture;
    let isCut = false;
    while (rest.length > 0) {
      const answer = await this.peer(name).read({ reads: rest, picture: seen, wait: true });
      if (answer === null) return null;
      for (const [at, result] of answer.found.entries()) {
        const cut = answer.cut && at === answer.found.length - 1;
        ranges.push(...seenRanges(rest[at], result, cut));
        const open = isCut && at === 0 ? found[found.length - 1] : undefined;
        if (Array.isArray(open) && Array.isArray(result)) { for (const row of result) open.push(row); }
        else found.push(result);
      }
      const last = answer.found.length - 1;
      rest = answer.cut ? [restOf(rest[last], answer.found[last]), ...rest.slice(last + 1)] : rest.slice(last + 1);
      isCut = answer.cut;
      seen = { commits: answer.commits, ranges };
    }
    return { found, picture: seen ?? { commits: 0, ranges } };
  }

  /**
   * The own space's picture after these reads.
   *
   * @param {SpacePicture | undefined} before
   * @param {Read[]} reads
   * @param {Found[]} found
   * @returns {SpacePicture}
   */
  #picture(before, reads, found) {
    const ranges = reads.flatMap((read, at) => seenRanges(read, found[at], false));
    return { commits: this.space.commits, ranges: before ? [...before.ranges, ...ranges] : ranges };
  }
}

/**
 * @param {Read[]} reads
 * @returns {Groups}
 */
function grouped(reads) {
  /** @type {Groups} */
  const groups = new Map();
  for (const [at, read] of reads.entries()) {
    const name = spaceOfRead(read);
    const group = groups.get(name) ?? { at: [], reads: [] };
    group.at.push(at);
    group.reads.push(read);
    groups.set(name, group);
  }
  return groups;
}
