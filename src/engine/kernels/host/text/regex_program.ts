/** Patterns of RE2 run over bytes, step by step: each step is tried once at a place, so that no pattern is slow. */
import {
  type CharacterSet,
  mayBeEmpty,
  type Part,
  type Pattern,
  type Place,
  sourceOfSet,
} from "./regex_syntax.ts";
import { charactersBytes, codeAt, formOf } from "./utf8.ts";

/** A step of a program. */
type Step =
  | { readonly does: "set"; readonly has: (bytes: Uint8Array, at: number) => number }
  | { readonly does: "place"; readonly place: Place }
  | { readonly does: "split"; first: number; second: number }
  | { readonly does: "save"; readonly slot: number }
  | { readonly does: "match" };

let beyond: string | undefined;

/** True where a set has all characters beyond ASCII. */
function hasAllBeyondAscii(set: CharacterSet): boolean {
  if (beyond === undefined) {
    const codes = Array.from({ length: 0x10ff80 }, (_, i) => i + 0x80)
      .filter((code) => code < 0xd800 || code > 0xdfff);
    beyond = "";
    for (let i = 0; i < codes.length; i += 4096) {
      beyond += String.fromCodePoint(...codes.slice(i, i + 4096));
    }
  }
  return !new RegExp(`(?!${sourceOfSet(set)})[^]`, set.fold ? "iu" : "u").test(beyond);
}

/** Returns the number of bytes that a set takes at a place; 0 where its character is not there. */
function taker(set: CharacterSet): (bytes: Uint8Array, at: number) => number {
  const regex = new RegExp(`^${sourceOfSet(set)}$`, set.fold ? "iu" : "u");
  const known = new Int8Array(128).fill(-1);
  let isWide: boolean | undefined;
  return (bytes, at) => {
    const count = charactersBytes(bytes, at);
    if (count > 1) return regex.test(String.fromCodePoint(codeAt(bytes, at))) ? count : 0;
    if (count === 0) {
      // RE2 asks for the form alone where a set has all characters beyond ASCII.
      const form = formOf(bytes, at);
      return form > 0 && (isWide ??= hasAllBeyondAscii(set)) ? form : 0;
    }
    const code = bytes[at];
    if (known[code] < 0) known[code] = Number(regex.test(String.fromCharCode(code)));
    return known[code];
  };
}

const isWord = (b: number | undefined): boolean =>
  b !== undefined && (b >= 48 && b < 58 || b >= 65 && b < 91 || b === 95 || b >= 97 && b < 123);

function isAt(place: Place, bytes: Uint8Array, at: number): boolean {
  switch (place) {
    case "textBegin":
      return at === 0;
    case "textEnd":
      return at === bytes.length;
    case "lineBegin":
      return at === 0 || bytes[at - 1] === 10;
    case "lineEnd":
      return at === bytes.length || bytes[at] === 10;
    case "wordEdge":
      return isWord(bytes[at - 1]) !== isWord(bytes[at]);
    case "noWordEdge":
      return isWord(bytes[at - 1]) === isWord(bytes[at]);
  }
}

/** Adds the steps of a part. */
function addSteps(steps: Step[], part: Part): void {
  const split = (isLazy: boolean): (to: number, isNear: boolean) => void => {
    const step = { does: "split" as const, first: -1, second: -1 };
    steps.push(step);
    return (to, isNear) => {
      if (isNear !== isLazy) step.first = to;
      else step.second = to;
    };
  };
  const optional = (isLazy: boolean, body: () => void): void => {
    const jump = split(isLazy);
    jump(steps.length, true);
    body();
    jump(steps.length, false);
  };
  const loop = (own: Part, isLazy: boolean): void => {
    const begin = steps.length;
    addSteps(steps, own);
    const jump = split(isLazy);
    jump(begin, true);
    jump(steps.length, false);
  };
  switch (part.kind) {
    case "set":
      steps.push({ does: "set", has: taker(part) });
      break;
    case "byte":
      steps.push({ does: "set", has: (bytes, at) => Number(at < bytes.length) });
      break;
    case "place":
      steps.push({ does: "place", place: part.place });
      break;
    case "all":
      for (const own of part.parts) addSteps(steps, own);
      break;
    case "either": {
      const ends: ((to: number, isNear: boolean) => void)[] = [];
      part.parts.forEach((own, i) => {
        if (i === part.parts.length - 1) return addSteps(steps, own);
        const jump = split(false);
        jump(steps.length, true);
        addSteps(steps, own);
        const end = split(false);
        ends.push(end);
        jump(steps.length, false);
      });
      for (const end of ends) {
        end(steps.length, true);
        end(steps.length, false);
      }
      break;
    }
    case "group":
      steps.push({ does: "save", slot: 2 * part.index });
      addSteps(steps, part.part);
      steps.push({ does: "save", slot: 2 * part.index + 1 });
      break;
    case "repeat": {
      const { part: own, least, most, isLazy } = part;
      if (most === Infinity) {
        for (let i = 1; i < least; i++) addSteps(steps, own);
        if (least > 0) return loop(own, isLazy);
        // A loop over what may be empty begins with it once, or not at all.
        if (mayBeEmpty(own)) return optional(isLazy, () => loop(own, isLazy));
        const again = steps.length, jump = split(isLazy);
        jump(steps.length, true);
        addSteps(steps, own);
        const back = split(false);
        back(again, true);
        back(again, false);
        jump(steps.length, false);
        return;
      }
      for (let i = 0; i < least; i++) addSteps(steps, own);
      const nested = (count: number): void => {
        if (count === 0) return;
        optional(isLazy, () => {
          addSteps(steps, own);
          nested(count - 1);
        });
      };
      nested(most - least);
    }
  }
}

/** A search: returns the begin and end of the match and each group, -1 for a group that took no part; null for no match. */
export type Search = (bytes: Uint8Array, from: number, isWhole?: boolean) => Int32Array | null;

/** Places of a block of bits. */
const BLOCK = 256;

/**
 * Bits of the steps that were tried at each place. Only places between the begin that is tried and the last one reached have them: a long
 * text takes no memory for each of its places.
 */
class Tried {
  readonly #words: number;
  readonly #from: number;
  readonly #blocks: (Int32Array | undefined)[] = [];
  #spare: Int32Array | undefined;

  constructor(words: number, from: number) {
    this.#words = words;
    this.#from = from;
  }

  /** Marks a step at a place. Returns true where it was marked before. */
  mark(step: number, at: number): boolean {
    const place = at - this.#from, k = Math.floor(place / BLOCK);
    const block = this.#blocks[k] ??= this.#made();
    const word = place % BLOCK * this.#words + (step >> 5), bit = 1 << (step & 31);
    if (block[word] & bit) return true;
    block[word] |= bit;
    return false;
  }

  /** Forgets the places before one, which no search comes back to. */
  forget(before: number): void {
    const place = before - this.#from;
    if (place % BLOCK > 0) return;
    const k = place / BLOCK - 1;
    this.#spare = this.#blocks[k] ?? this.#spare;
    this.#blocks[k] = undefined;
  }

  #made(): Int32Array {
    const block = this.#spare?.fill(0) ?? new Int32Array(BLOCK * this.#words);
    this.#spare = undefined;
    return block;
  }
}

/** Makes the search of a pattern: the first match from a place on, or that of the whole text. */
export function searchOf({ part, groups }: Pattern): Search {
  const steps: Step[] = [];
  addSteps(steps, part);
  steps.push({ does: "match" });
  const words = Math.ceil(steps.length / 32);
  return (bytes, from, isWhole = false) => {
    const tried = new Tried(words, from);
    const found = new Int32Array(2 * groups + 2).fill(-1);
    // Steps and places to come back to; below 0 the slot of a group whose place comes back.
    const stack: number[] = [];
    const search = (begin: number): boolean => {
      stack.push(0, begin);
      while (stack.length > 0) {
        let at = stack.pop()!, id = stack.pop()!;
        if (id < 0) {
          found[~id] = at;
          continue;
        }
        for (;;) {
          if (tried.mark(id, at)) break;
          const step = steps[id];
          if (step.does === "set") {
            const count = step.has(bytes, at);
            if (count === 0) break;
            at += count;
            id++;
          } else if (step.does === "split") {
            stack.push(step.second, at);
            id = step.first;
          } else if (step.does === "save") {
            stack.push(~step.slot, found[step.slot]);
            found[step.slot] = at;
            id++;
          } else if (step.does === "place") {
            if (!isAt(step.place, bytes, at)) break;
            id++;
          } else {
            if (isWhole && at < bytes.length) break;
            found[0] = begin;
            found[1] = at;
            return true;
          }
        }
      }
      return false;
    };
    let has = search(from);
    for (let begin = from + 1; !has && !isWhole && begin <= bytes.length; begin++) {
      tried.forget(begin);
      has = search(begin);
    }
    return has ? found : null;
  };
}
