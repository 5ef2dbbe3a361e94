/** The parts of a pattern of RE2, which its parser makes. */

/** Members of a set of characters: the inside of a class of JavaScript, or all that are not such. */
export interface Members {
  /** The inside of a class as JavaScript reads it with the flag `u`. */
  readonly source: string;
  /** True for all characters but those. */
  readonly isNot: boolean;
}

/** A set of characters. */
export interface CharacterSet {
  readonly kind: "set";
  /** Members; a character of any of them is in the set. */
  readonly members: readonly Members[];
  /** True for all characters but the members. */
  readonly isNot: boolean;
  /** True where letters of both cases are the same. */
  readonly fold: boolean;
}

/** Places that a pattern asks for. */
export type Place = "textBegin" | "textEnd" | "lineBegin" | "lineEnd" | "wordEdge" | "noWordEdge";

/** A part of a pattern. */
export type Part =
  | CharacterSet
  | { readonly kind: "byte" }
  | { readonly kind: "place"; readonly place: Place }
  | { readonly kind: "all"; readonly parts: readonly Part[] }
  | { readonly kind: "either"; readonly parts: readonly Part[] }
  | { readonly kind: "group"; readonly index: number; readonly part: Part }
  | {
    readonly kind: "repeat";
    readonly part: Part;
    readonly least: number;
    readonly most: number;
    readonly isLazy: boolean;
  };

/** A pattern and the number of its groups. */
export interface Pattern {
  readonly part: Part;
  readonly groups: number;
}

/** The parts of a part. */
export function partsOf(part: Part): readonly Part[] {
  if (part.kind === "all" || part.kind === "either") return part.parts;
  return part.kind === "group" || part.kind === "repeat" ? [part.part] : [];
}

/** True where the part or one below it is such. */
export function hasPart(part: Part, isSuch: (part: Part) => boolean): boolean {
  return isSuch(part) || partsOf(part).some((own) => hasPart(own, isSuch));
}

/** True where the part may match nothing. */
export function mayBeEmpty(part: Part): boolean {
  switch (part.kind) {
    case "set":
    case "byte":
      return false;
    case "place":
      return true;
    case "all":
      return part.parts.every(mayBeEmpty);
    case "either":
      return part.parts.some(mayBeEmpty);
    case "group":
      return mayBeEmpty(part.part);
    case "repeat":
      return part.least === 0 || mayBeEmpty(part.part);
  }
}

/** Writes a set as JavaScript reads it with the flag `u`. */
export function sourceOfSet({ members, isNot }: CharacterSet): string {
  const inside = members.filter((m) => !m.isNot).map(({ source }) => source).join("");
  const others = members.filter((m) => m.isNot);
  if (others.length === 0) return `[${isNot ? "^" : ""}${inside}]`;
  if (others.length === 1 && inside === "") return `[${isNot ? "" : "^"}${others[0].source}]`;
  const any = [`[${inside}]`, ...others.map(({ source }) => `[^${source}]`)].join("|");
  return isNot ? `(?:(?!${any})[^])` : `(?:${any})`;
}
