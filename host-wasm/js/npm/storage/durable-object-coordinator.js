/**
 * Commits of this object's runs. Used by the Durable Objects storage only.
 *
 * What concerns the own space alone is one transaction. Else, in this order:
 *   1. the spaces that are changed are locked, in the order of their names, with the changes kept durably in the
 *      others; each compares its picture, and whoever waits for a lock holds only those before it;
 *   2. the spaces that were only read compare theirs, and refuse where another commit is under way;
 *   3. one transaction here makes the own changes and the decision;
 *   4. the others are told, and the decision is forgotten as they confirm.
 * Before the third step an end of any kind refuses the commit: who asks for a decision that is not known here is
 * told so, and a commit that was refused in this way is never decided otherwise. After it the commit is made,
 * and every participant learns so however often objects die.
 *
 * One such commit of this object is under way at a time; others wait for their turn, and hold nothing then.
 *
 * @import { Change } from "./storage.d.ts"
 * @import { Decision, Peer, Pictures, SpacePicture } from "./durable-object.d.ts"
 * @import { Participant } from "./durable-object-participant.js"
 * @import { Space } from "./durable-object-space.js"
 * @typedef {object} Commit one that is under way
 * @property {string} id
 * @property {Map<string, Change[]>} parts the changes by space
 * @property {Pictures} pictures
 * @property {number} sinceMs
 * @property {string[]} tried the participants that may hold changes of it
 * @property {boolean} isRefused for ever
 * @typedef {object} Surroundings
 * @property {string} own the name of the own space
 * @property {(space: string) => Peer} peer
 * @property {() => number} now
 * @property {(changes: Change[]) => void} committed is told what was changed
 * @property {() => void} schedule has the object woken when something is left to do
 */

import { checkChanges, keyOf } from "./bytes.js";
import { sortedKeys, spaceOf } from "./durable-object-ranges.js";

/** How long a commit may stay undecided while its object lives. */
const UNDECIDED_MS = 10_000;
/** Changes of one claim, bytes: a call between objects carries 32 MiB. */
const CLAIM_BYTES = 8 << 20;
/** What a change adds to its key and value in a call. */
const CHANGE_EXTRA_BYTES = 64;

export class Coordinator {
  #space;
  #participant;
  #around;
  /** @type {Commit | null} */
  #underWay = null;
  /** @type {Promise<unknown>} the last commit that waits for its turn */
  #turn = Promise.resolve();
  #waiting = 0;

  /**
   * @param {Space} space
   * @param {Participant} participant
   * @param {Surroundings} around
   */
  constructor(space, participant, around) {
    this.#space = space;
    this.#participant = participant;
    this.#around = around;
  }

  /**
   * @param {Change[]} changes
   * @param {Pictures} [pictures]
   * @returns {boolean | Promise<boolean>}
   */
  commit(changes, pictures = {}) {
    checkChanges(changes);
    const parts = bySpace(changes);
    const seen = Object.fromEntries(Object.entries(pictures).filter(([, { ranges }]) => ranges.length > 0));
    const spaces = new Set([...parts.keys(), ...Object.keys(seen)]);
    const [only = this.#around.own] = spaces;
    if (spaces.size > 1) return this.#inTurn(() => this.#commitAcross(parts, seen));
    if (only !== this.#around.own) return this.#commitThere(only, parts, seen);
    const act = () => this.#commitHere(changes, seen[only]);
    if (this.#waiting === 0 && this.#participant.isUnlocked) return act();
    return this.#inTurn(() => this.#participant.whenUnlocked(act));
  }

  /**
   * What became of a commit, for a participant that has prepared it.
   *
   * @param {string} id
   * @param {string} participant
   * @returns {Decision}
   */
  decision(id, participant) {
    const commit = this.#underWay;
    if (commit?.id === id) {
      if (!commit.isRefused && this.#around.now() - commit.sinceMs < UNDECIDED_MS) return "running";
      commit.isRefused = true;
      return "refused";
    }
    if (!this.#space.isDecided(id, participant)) return "refused";
    void this.#tell(id, participant);
    return "committed";
  }

  /** Tells decisions again that were not confirmed. */
  async tellAgain() {
    await Promise.all(this.#space.unconfirmed().map(({ id, participant }) => this.#tell(id, participant)));
  }

  /**
   * @param {Change[]} changes
   * @param {SpacePicture | undefined} picture
   */
  #commitHere(changes, picture) {
    if (picture && !this.#space.holds(picture)) return false;
    if (changes.length === 0) return true;
    this.#space.commit(changes);
    this.#around.committed(changes);
    return true;
  }

  /**
   * A commit that concerns one other space only.
   *
   * @param {string} space
   * @param {Map<string, Change[]>} parts
   * @param {Pictures} pictures
   */
  async #commitThere(space, parts, pictures) {
    const claims = claimsOf(parts.get(space) ?? []);
    if (claims.length > 1) return this.#inTurn(() => this.#commitAcross(parts, pictures));
    const picture = pictures[space];
    const peer = this.#around.peer(space);
    if (claims.length === 0) return (await peer.read({ reads: [], picture, wait: true })) !== null;
    const claim = { id: crypto.randomUUID(), coordinator: this.#around.own, changes: claims[0], picture };
    return await peer.prepare({ ...claim, part: "whole" });
  }

  /**
   * @param {Map<string, Change[]>} parts
   * @param {Pictures} pictures
   */
  async #commitAcross(parts, pictures) {
    /** @type {Commit} */
    const commit = {
      id: crypto.randomUUID(),
      parts,
      pictures,
      sinceMs: this.#around.now(),
      tried: [],
      isRefused: false,
    };
    this.#underWay = commit;
    let isMade = false;
    try {
      isMade = (await this.#lock(commit)) && (await this.#othersHold(commit)) && this.#decide(commit);
      return isMade;
    } finally {
      // In the very turn of the decision: who asks from here on is answered by what is stored.
      this.#underWay = null;
      this.#participant.letGo();
      for (const name of commit.tried) void (isMade ? this.#tell(commit.id, name) : this.#refuse(commit.id, name));
    }
  }

  /** Locks the spaces that are changed; false: a picture does not hold. @param {Commit} commit */
  async #lock(commit) {
    const { own } = this.#around;
    for (const name of [...commit.parts.keys()].sort()) {
      const changes = commit.parts.get(name) ?? [];
      const picture = commit.pictures[name];
      const lockHere = () => {
        if (picture && !this.#space.holds(picture)) return false;
        this.#participant.hold(sortedKeys(changes));
        return true;
      };
      const isReady = name === own
        ? await this.#participant.whenUnlocked(lockHere)
        : await this.#prepare(commit, name, changes);
      if (!isReady) return false;
    }
    return true;
  }

  /**
   * @param {Commit} commit
   * @param {string} name
   * @param {Change[]} changes
   */
  async #prepare(commit, name, changes) {
    const { own, peer } = this.#around;
    commit.tried.push(name);
    const [first, ...further] = claimsOf(changes);
    const claim = { id: commit.id, coordinator: own };
    const picture = commit.pictures[name];
    if (!(await peer(name).prepare({ ...claim, part: "first", picture, changes: first }))) return false;
    for (const more of further) {
      if (await peer(name).prepare({ ...claim, part: "further", changes: more })) continue;
      throw new Error(`${name} gave the commit up`);
    }
    return true;
  }

  /** Whether what was read of spaces that are not changed is still so. @param {Commit} commit */
  async #othersHold({ parts, pictures }) {
    const names = Object.keys(pictures).filter((name) => name !== this.#around.own && !parts.has(name));
    // Who holds locks must not wait for others, who may wait for these.
    const wait = parts.size === 0;
    const answers = names.map((name) => this.#around.peer(name).read({ reads: [], picture: pictures[name], wait }));
    return !(await Promise.all(answers)).includes(null);
  }

  /** The turning point: false before it, made after it. @param {Commit} commit */
  #decide({ id, parts, pictures, tried, isRefused }) {
    const { own, committed, schedule } = this.#around;
    if (isRefused) throw new Error("the commit took too long");
    const picture = pictures[own];
    if (picture && (!this.#space.holds(picture) || this.#participant.isPrepared(picture.ranges))) return false;
    const changes = parts.get(own) ?? [];
    this.#space.commit(changes, { id, participants: tried });
    if (changes.length > 0) committed(changes);
    if (tried.length > 0) schedule();
    return true;
  }

  /**
   * @param {string} id
   * @param {string} participant
   */
  async #tell(id, participant) {
    try {
      await this.#around.peer(participant).finish(id, true);
      this.#space.forget(id, participant);
    } catch {
      // It asks by itself, and it is told again.
      this.#around.schedule();
    }
  }

  /**
   * @param {string} id
   * @param {string} participant
   */
  async #refuse(id, participant) {
    try {
      await this.#around.peer(participant).finish(id, false);
    } catch {
      // It asks by itself.
    }
  }

  /**
   * @template T
   * @param {() => Promise<T>} act
   * @returns {Promise<T>}
   */
  #inTurn(act) {
    this.#waiting += 1;
    const result = this.#turn.then(act);
    const end = () => void (this.#waiting -= 1);
    this.#turn = result.then(end, end);
    return result;
  }
}

/**
 * Changes by the names of their spaces.
 *
 * @param {Change[]} changes
 */
function bySpace(changes) {
  /** @type {Map<string, Change[]>} */
  const parts = new Map();
  for (const change of changes) {
    const name = spaceOf(keyOf(change));
    const part = parts.get(name);
    if (part) part.push(change);
    else parts.set(name, [change]);
  }
  return parts;
}

/**
 * Changes in as many claims as their bytes need.
 *
 * @param {Change[]} changes
 */
function claimsOf(changes) {
  /** @type {Change[][]} */
  const claims = [];
  let left = 0;
  for (const change of changes) {
    const bytes = keyOf(change).length + ("put" in change ? change.value.length : 0) + CHANGE_EXTRA_BYTES;
    if (claims.length === 0 || bytes > left) {
      claims.push([]);
      left = CLAIM_BYTES;
    }
    claims[claims.length - 1].push(change);
    left -= bytes;
  }
  return claims;
}
