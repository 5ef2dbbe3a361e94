/** The parser of RE2's patterns, in its Perl-like form. */
import { InvalidArgumentError } from "../../../core/errors.ts";
import { memberOf, perlClass, posixClass, unicodeClass } from "./regex_classes.ts";
import type { CharacterSet, Members, Part, Pattern, Place } from "./regex_syntax.ts";
import { partsOf } from "./regex_syntax.ts";

/** Most repetitions of a part that RE2 takes. */
const MOST_REPEATS = 1000;
/** Most groups inside of each other. */
const MOST_DEPTH = 1000;

/** Flags of a pattern's rest: cases are the same, lines begin and end, the dot takes ends of lines, few comes before many. */
interface Flags {
  i: boolean;
  m: boolean;
  s: boolean;
  U: boolean;
}

const LETTERS: Readonly<Record<string, number>> = { n: 10, r: 13, t: 9, a: 7, f: 12, v: 11 };
const PLACES: Readonly<Record<string, Place>> = {
  A: "textBegin",
  z: "textEnd",
  b: "wordEdge",
  B: "noWordEdge",
};

/** The budget of repetitions that is left below a part; 0 where there are too many. */
function repeatsLeft(part: Part, budget: number): number {
  let left = budget;
  if (part.kind === "repeat") {
    const count = part.most === Infinity ? part.least : part.most;
    const isCounted = !(part.least <= 1 && (part.most <= 1 || part.most === Infinity));
    if (isCounted && count > 0) left = Math.floor(left / count);
  }
  return partsOf(part).reduce((least, own) => Math.min(least, repeatsLeft(own, left)), left);
}

/** The members of a set as one that is not inverted; null where that takes more than members. */
function membersOf({ members, isNot }: CharacterSet): readonly Members[] | null {
  if (!isNot) return members;
  if (members.some((own) => own.isNot)) return null;
  return [{ source: members.map(({ source }) => source).join(""), isNot: true }];
}

/** The set of the characters of two; null for sets that differ in cases. */
function union(a: CharacterSet, b: CharacterSet): CharacterSet | null {
  const first = membersOf(a), second = membersOf(b);
  if (first === null || second === null || a.fold !== b.fold) return null;
  return { kind: "set", members: [...first, ...second], isNot: false, fold: a.fold };
}

class Parser {
  readonly #whole: string;
  readonly #text: string[];
  #at = 0;
  #groups = 0;
  #depth = 0;

  constructor(pattern: string) {
    this.#whole = pattern;
    this.#text = Array.from(pattern);
  }

  #refuse(why: string): never {
    throw new InvalidArgumentError(`Invalid pattern: ${this.#whole}, error: ${why}`);
  }

  #sees(text: string): boolean {
    for (let i = 0; i < text.length; i++) if (this.#text[this.#at + i] !== text[i]) return false;
    return true;
  }

  #takes(text: string): boolean {
    const sees = this.#sees(text);
    if (sees) this.#at += text.length;
    return sees;
  }

  /** Takes the text up to an ending, and the ending; null where it does not come. */
  #upTo(ending: string): string | null {
    const from = this.#at;
    for (let i = from; i < this.#text.length; i++) {
      this.#at = i;
      if (this.#takes(ending)) return this.#text.slice(from, i).join("");
    }
    this.#at = from;
    return null;
  }

  parse(): Pattern {
    const part = this.#either({ i: false, m: false, s: false, U: false });
    if (this.#at < this.#text.length) this.#refuse("unexpected )");
    return { part, groups: this.#groups };
  }

  /** Parts between `|`, up to the end of the group; its flags may change on the way. */
  #either(flags: Flags): Part {
    if (++this.#depth > MOST_DEPTH) this.#refuse("expression nests too deeply");
    const parts: Part[] = [this.#all(flags)];
    while (this.#takes("|")) {
      const part = this.#all(flags), before = parts.at(-1)!;
      const both = part.kind === "set" && before.kind === "set" ? union(before, part) : null;
      if (both === null) parts.push(part);
      else parts[parts.length - 1] = both;
    }
    this.#depth--;
    return parts.length === 1 ? parts[0] : { kind: "either", parts };
  }

  #all(flags: Flags): Part {
    const parts: Part[] = [];
    let wasRepeat = false;
    while (this.#at < this.#text.length && !this.#sees("|") && !this.#sees(")")) {
      const repeat = this.#repeat();
      if (repeat === null) {
        this.#one(parts, flags);
        wasRepeat = false;
        continue;
      }
      const [least, most] = repeat, isLazy = this.#takes("?") !== flags.U;
      if (wasRepeat) this.#refuse("bad repetition operator");
      const part = parts.pop();
      if (part === undefined) this.#refuse("no argument for repetition operator");
      const repeated: Part = { kind: "repeat", part, least, most, isLazy };
      if (repeatsLeft(repeated, MOST_REPEATS) === 0) this.#refuse("invalid repetition size");
      parts.push(repeated);
      wasRepeat = true;
    }
    return parts.length === 1 ? parts[0] : { kind: "all", parts };
  }

  #repeat(): readonly [number, number] | null {
    if (this.#takes("*")) return [0, Infinity];
    if (this.#takes("+")) return [1, Infinity];
    if (this.#takes("?")) return [0, 1];
    if (!this.#sees("{")) return null;
    const rest = this.#text.slice(this.#at, this.#at + 24).join("");
    // A brace without numbers stands for itself.
    const found = /^\{(0|[1-9]\d*)(,?)(0|[1-9]\d*)?\}/.exec(rest);
    if (found === null || found[2] === "" && found[3] !== undefined) return null;
    const least = Number(found[1]);
    const most = found[2] === "" ? least : found[3] === undefined ? Infinity : Number(found[3]);
    if (least > MOST_REPEATS || most !== Infinity && most > MOST_REPEATS || most < least) {
      this.#refuse(`invalid repetition size: ${found[0]}`);
    }
    this.#at += found[0].length;
    return [least, most];
  }

  #one(parts: Part[], flags: Flags): void {
    const c = this.#text[this.#at];
    if (c === "(") return this.#group(parts, flags);
    if (c === "[") return void parts.push(this.#class(flags));
    if (c === "\\") return this.#escaped(parts, flags);
    this.#at++;
    if (c === "^") {
      parts.push({ kind: "place", place: flags.m ? "lineBegin" : "textBegin" });
    } else if (c === "$") {
      parts.push({ kind: "place", place: flags.m ? "lineEnd" : "textEnd" });
    } else if (c === ".") {
      const source = flags.s ? "" : "\\n";
      parts.push({ kind: "set", members: [{ source, isNot: false }], isNot: true, fold: false });
    } else parts.push(this.#literal(c.codePointAt(0)!, flags));
  }

  #literal(code: number, { i: fold }: Flags): CharacterSet {
    return {
      kind: "set",
      members: [{ source: memberOf(code), isNot: false }],
      isNot: false,
      fold,
    };
  }

  #group(parts: Part[], flags: Flags): void {
    this.#at++;
    let index = 0;
    const own = { ...flags };
    if (!this.#takes("?")) index = ++this.#groups;
    else if (this.#takes("P<")) {
      const name = this.#upTo(">");
      if (name === null || !/^[\p{L}\p{Mn}\p{Mc}\p{Nd}\p{Nl}\p{Pc}]+$/u.test(name)) {
        this.#refuse("invalid named capture group");
      }
      index = ++this.#groups;
    } else if (this.#flags(own)) {
      // Flags alone hold for the rest of the group that they stand in.
      Object.assign(flags, own);
      return;
    }
    const part = this.#either(own);
    if (!this.#takes(")")) this.#refuse(`missing ): ${this.#whole}`);
    parts.push(index === 0 ? { kind: "all", parts: [part] } : { kind: "group", index, part });
  }

  /** Reads flags; true where no group follows. */
  #flags(flags: Flags): boolean {
    let value = true, isMissing = false;
    for (;;) {
      const c = this.#text[this.#at++];
      if (c === "i" || c === "m" || c === "s" || c === "U") {
        flags[c] = value;
        isMissing = false;
      } else if (c === "-" && value) {
        value = false;
        isMissing = true;
      } else if ((c === ":" || c === ")") && !isMissing) return c === ")";
      else this.#refuse("invalid perl operator");
    }
  }

  #escaped(parts: Part[], flags: Flags): void {
    const c = this.#text[this.#at + 1];
    if (c === "Q") {
      this.#at += 2;
      while (this.#at < this.#text.length && !this.#takes("\\E")) {
        parts.push(this.#literal(this.#text[this.#at++].codePointAt(0)!, flags));
      }
    } else if (c === "C") {
      this.#at += 2;
      parts.push({ kind: "byte" });
    } else if (c !== undefined && Object.hasOwn(PLACES, c)) {
      this.#at += 2;
      parts.push({ kind: "place", place: PLACES[c] });
    } else {
      const own = this.#named();
      parts.push(
        own === null
          ? this.#literal(this.#character(), flags)
          : { kind: "set", members: [own], isNot: false, fold: flags.i },
      );
    }
  }

  /** Reads `\d`, `\pL`, `\p{Greek}` and the like; null where something else stands. */
  #named(): Members | null {
    const c = this.#text[this.#at + 1];
    if (!this.#sees("\\") || c === undefined) return null;
    const own = perlClass(c);
    if (own !== null) {
      this.#at += 2;
      return own;
    }
    if (c !== "p" && c !== "P") return null;
    this.#at += 2;
    const name = this.#takes("{") ? this.#upTo("}") : this.#text[this.#at++] ?? null;
    if (name === null) this.#refuse("invalid character class range");
    const isNot = name.startsWith("^"), bare = isNot ? name.slice(1) : name;
    return unicodeClass(bare, isNot !== (c === "P")) ??
      this.#refuse(`invalid character class range: ${name}`);
  }

  /** Reads a character or an escape that stands for one. */
  #character(): number {
    const c = this.#text[this.#at++];
    if (c !== "\\") return c.codePointAt(0)!;
    const d = this.#text[this.#at++];
    if (d === undefined) this.#refuse("trailing \\");
    if (/[0-7]/.test(d) && (d === "0" || /[0-7]/.test(this.#text[this.#at] ?? ""))) {
      let code = Number(d);
      for (let k = 0; k < 2 && /[0-7]/.test(this.#text[this.#at] ?? ""); k++) {
        code = 8 * code + Number(this.#text[this.#at++]);
      }
      return code;
    }
    if (d === "x") return this.#hexadecimal();
    if (Object.hasOwn(LETTERS, d)) return LETTERS[d];
    if (d > "\x7f" || /[0-9A-Za-z]/.test(d)) this.#refuse(`invalid escape sequence: \\${d}`);
    return d.codePointAt(0)!;
  }

  #hexadecimal(): number {
    const isBraced = this.#takes("{");
    const digits = isBraced
      ? this.#upTo("}") ?? ""
      : this.#text.slice(this.#at, this.#at += 2).join("");
    const code = (isBraced ? /^[\da-fA-F]+$/ : /^[\da-fA-F]{2}$/).test(digits)
      ? parseInt(digits, 16)
      : Infinity;
    return code <= 0x10ffff ? code : this.#refuse("invalid escape sequence: \\x");
  }

  #class(flags: Flags): CharacterSet {
    this.#at++;
    const isNot = this.#takes("^"), members: Members[] = [];
    for (let isFirst = true; isFirst || !this.#sees("]"); isFirst = false) {
      if (this.#at >= this.#text.length) this.#refuse("missing ]");
      const own = this.#posix() ?? this.#named() ?? this.#range();
      members.push(own);
    }
    this.#at++;
    return { kind: "set", members, isNot, fold: flags.i };
  }

  #posix(): Members | null {
    const from = this.#at;
    if (!this.#takes("[:")) return null;
    const name = this.#upTo(":]");
    if (name === null) {
      this.#at = from;
      return null;
    }
    return posixClass(name) ?? this.#refuse(`invalid character class range: [:${name}:]`);
  }

  #range(): Members {
    const first = this.#character();
    let source = memberOf(first);
    if (this.#sees("-") && this.#at + 1 < this.#text.length && this.#text[this.#at + 1] !== "]") {
      this.#at++;
      const last = this.#character();
      if (last < first) this.#refuse("invalid character class range");
      source += `-${memberOf(last)}`;
    }
    return { source, isNot: false };
  }
}

/** Reads a pattern of RE2. Throws `InvalidArgumentError` for what RE2 refuses, as lookahead and references back. */
export function parseRE2(pattern: string): Pattern {
  return new Parser(pattern).parse();
}
