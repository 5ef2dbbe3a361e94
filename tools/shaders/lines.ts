/**
 * The lines of a file under shaders/: code, directives, and the pieces that one file includes from another.
 *
 * @module
 */

/** A line of a file: its code, and the directive that stands behind it or alone. */
export interface Line {
  readonly code: string;
  readonly directive: string;
  /** Number in the file, from 1. */
  readonly number: number;
  /** It closes a function or a struct. */
  readonly closes: boolean;
}

/** Lines that other files include, by the name of the piece. */
interface Pieces {
  readonly declarations: readonly Line[];
  readonly pieces: ReadonlyMap<
    string,
    { readonly names: readonly string[]; readonly lines: Line[] }
  >;
}

/** Reads `a/b.wgsl` below the folder. */
export type ReadShader = (path: string) => string;

/** True for a file that holds a kernel. */
export function isKernel(source: string): boolean {
  return source.includes("@compute");
}

/** True for a file of pieces that kernels include. */
export function hasPieces(source: string): boolean {
  return /^\s*\/\/#piece |\/\/#inline/m.test(source);
}

/** The lines that say something; those behind `//:` are code of cases that do not hold in the file. */
export function linesOf(source: string): Line[] {
  return source.replaceAll("\r\n", "\n").split("\n").flatMap((text, i): Line[] => {
    const shown = text.trim().replace(/^\/\/:\s*/, "");
    const at = shown.indexOf("//");
    const code = (at < 0 ? shown : shown.slice(0, at)).trim();
    const comment = at < 0 ? "" : shown.slice(at);
    const directive = comment.startsWith("//#") ? comment.slice(3).trim() : "";
    if (code === "" && directive === "") return [];
    return [{ code, directive, number: i + 1, closes: text.startsWith("}") }];
  });
}

/** A line that opens what `//#end` closes. */
function opens({ code, directive }: Line): boolean {
  return code === "" && /^(?:for|if|slot|piece)\b/.test(directive);
}

/** A line that declares a parameter, an index, or an inline function. */
export function isDeclaration({ code, directive }: Line): boolean {
  return code !== "" && /^(?:param|text|let|index|lane|inline)\b/.test(directive);
}

/** The pieces of a file, and what it declares beside them. */
function readPieces(source: string): Pieces {
  const declarations: Line[] = [];
  const pieces = new Map<string, { names: string[]; lines: Line[] }>();
  let open: Line[] | null = null, depth = 0;
  for (const line of linesOf(source)) {
    if (open === null) {
      const [word, name, ...names] = line.directive.split(/\s+/);
      if (word === "piece") pieces.set(name, { names, lines: open = [] });
      else if (isDeclaration(line)) declarations.push(line);
      continue;
    }
    if (opens(line)) depth++;
    if (line.directive === "end" && depth-- === 0) {
      open = null;
      depth = 0;
    } else open.push(line);
  }
  return { declarations, pieces };
}

/** Puts pieces where they are included; `declared` collects what their files declare. */
export function include(lines: readonly Line[], read: ReadShader, declared: Line[]): Line[] {
  return lines.flatMap((line) => {
    const match = /^include (\S+)(?: (\w+)\s*(.*))?$/.exec(line.directive);
    if (match === null) return [line];
    const [, path, name, given] = match;
    const { declarations, pieces } = readPieces(read(path));
    for (const d of declarations) {
      if (!declared.some((o) => o.code === d.code && o.directive === d.directive)) declared.push(d);
    }
    if (name === undefined) return [];
    const piece = pieces.get(name);
    if (piece === undefined) throw new Error(`Cannot include ${name}: ${path} has no such piece`);
    const texts = new Map(
      given.split(";").filter((part) => part.trim() !== "").map((part) => {
        const at = part.indexOf("=");
        return [part.slice(0, at).trim(), part.slice(at + 1).trim()] as const;
      }),
    );
    for (const wanted of [...texts.keys(), ...piece.names]) {
      if (!piece.names.includes(wanted) || !texts.has(wanted)) {
        throw new Error(`Cannot include ${name} of ${path}: it takes ${piece.names.join(", ")}`);
      }
    }
    // A whole name, or a part of one between underscores.
    const part = (text: string): string => {
      const given = texts.get(text);
      return given !== undefined && /^\w+$/.test(given) ? given : text;
    };
    const put = (text: string): string =>
      text.replace(/\w+/g, (word) => texts.get(word) ?? word.split("_").map(part).join("_"));
    const own = piece.lines.map((l) => ({
      ...l,
      code: put(l.code),
      directive: put(l.directive),
      number: line.number,
      closes: false,
    }));
    return include(own, read, declared);
  });
}

/** Returns the name that a declaration declares. */
export function nameOf({ code }: Line): string {
  return /^(?:const|alias|fn) (\w+)/.exec(code)![1];
}

/** Those of `declared` that the lines use, and what these use, in their order. */
export function usedOf(declared: readonly Line[], lines: readonly Line[]): Line[] {
  const used = new Set<Line>();
  const use = (text: string): void => {
    const words = new Set(text.match(/\w+/g));
    for (const d of declared) {
      if (used.has(d) || !words.has(nameOf(d))) continue;
      used.add(d);
      use(/^(?:inline|let)/.test(d.directive) ? `${d.code} ${d.directive}` : d.code);
    }
  };
  use(
    lines.map((l) => `${l.code} ${l.directive.replace(/^(slot \w+|param|text).*/, "$1")}`).join(
      "\n",
    ),
  );
  // Indices stand in parts of names.
  return declared.filter((d) => used.has(d) || /^(?:index|lane)/.test(d.directive));
}
