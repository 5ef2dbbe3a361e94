/** Patterns of RE2 as those of JavaScript, where both match alike. */
import { Error } from "../../../core/throwing/builtin_errors.ts";
import {
  type CharacterSet,
  hasPart,
  mayBeEmpty,
  type Part,
  type Pattern,
  type Place,
  sourceOfSet,
} from "./regex_syntax.ts";

const PLACES: Readonly<Record<Place, string>> = {
  textBegin: "^",
  textEnd: "$",
  lineBegin: "(?:^|(?<=\\n))",
  lineEnd: "(?:$|(?=\\n))",
  wordEdge: "\\b",
  noWordEdge: "\\B",
};

function write(part: Part): string {
  switch (part.kind) {
    case "set":
      return sourceOfSet(part);
    case "byte":
      throw new Error("Cannot write a byte as a part of a pattern");
    case "place":
      return PLACES[part.place];
    case "all":
      return part.parts.map((own) => own.kind === "either" ? `(?:${write(own)})` : write(own))
        .join("");
    case "either":
      return part.parts.map(write).join("|");
    case "group":
      return `(${write(part.part)})`;
    case "repeat": {
      const { part: own, least, most, isLazy } = part;
      const count = `{${least},${most === Infinity ? "" : most}}`;
      return `(?:${write(own)})${count}${isLazy ? "?" : ""}`;
    }
  }
}

/** True for sets in which the case of letters makes a difference. */
function sets(part: Part): CharacterSet[] {
  const found: CharacterSet[] = [];
  hasPart(part, (own) => {
    if (
      own.kind === "set" && !own.members.every(({ source }) => source === "" || source === "\\n")
    ) {
      found.push(own);
    }
    return false;
  });
  return found;
}

/**
 * Returns a pattern of JavaScript that matches texts as RE2 does, null where there is none: loops over loops, groups in loops, which
 * JavaScript empties, and places inside of a character's bytes.
 */
export function scriptOf({ part }: Pattern, flags: string): RegExp | null {
  const isOther = (own: Part): boolean =>
    own.kind === "byte" || own.kind === "place" && own.place === "noWordEdge" ||
    own.kind === "repeat" && own.most > 1 && (mayBeEmpty(own.part) ||
        hasPart(own.part, (p) => p.kind === "group" || p.kind === "repeat" && p.most > 1)) ||
    own.kind === "repeat" && own.most <= 1 && mayBeEmpty(own.part);
  if (hasPart(part, isOther)) return null;
  const all = sets(part), fold = all.length > 0 && all[0].fold;
  if (all.some((set) => set.fold !== fold)) return null;
  if (fold && hasPart(part, (own) => own.kind === "place" && own.place === "wordEdge")) return null;
  return new RegExp(write(part), `${flags}${fold ? "iu" : "u"}`);
}
