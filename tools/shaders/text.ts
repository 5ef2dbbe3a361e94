/**
 * Names in a line of WGSL that the text of a kernel replaces: parameters, indices of unrolled loops, bindings, inline functions.
 *
 * @module
 */

/** The meaning of the names in a kernel's file. */
export interface Names {
  /** Parameters by their names in WGSL: how TypeScript calls them, and what a number has behind it. */
  readonly values: Map<string, { readonly text: string; readonly suffix: string }>;
  /** Bindings by the names they have in the file. */
  readonly bindings: Map<string, string>;
  /** Inline functions: which arguments stand alone between separators, and whether no result needs parentheses. */
  readonly inlines: Map<string, { readonly bare: readonly boolean[]; readonly atomic: boolean }>;
  /** Declared indices and what their numbers have behind them. */
  readonly indices: Map<string, string>;
  /** Those of them that number the lanes of a vector. */
  readonly lanes: Set<string>;
  /** Names of the loops and computed numbers around, outermost first. */
  readonly scopes: Set<string>[];
}

/** The inside of a template literal that gives this line. */
export function literal(code: string, names: Names): string {
  if (/[`\\]|\$\{/.test(code)) throw new Error(`No WGSL: ${code}`);
  const { values, bindings, inlines, indices, lanes, scopes } = names;
  const isIndex = (name: string): boolean => scopes.some((scope) => scope.has(name));
  let out = "";
  for (let at = 0; at < code.length;) {
    const rest = code.slice(at);
    const lane = /^\[(\w+)\]/.exec(rest);
    if (lane && lanes.has(lane[1]) && isIndex(lane[1])) {
      out += `.\${"xyzw"[${lane[1]}]}`;
      at += lane[0].length;
      continue;
    }
    const word = /^(?:[A-Za-z_]\w*|\d[\w.]*)/.exec(rest)?.[0];
    if (word === undefined) {
      out += code[at++];
      continue;
    }
    at += word.length;
    const isMember = /\.\s*$/.test(code.slice(0, at - word.length));
    const inline = isMember ? undefined : inlines.get(word);
    if (inline !== undefined && code[at] === "(") {
      const end = closing(code, at);
      const args = split(code.slice(at + 1, end)).map((a, k) => {
        const text = literal(a, names);
        return `\`${inline.bare[k] || staysAtomic(a, names) ? text : `(${text})`}\``;
      });
      const call = `\${${word}(${args.join(", ")})}`;
      const isAlone = /(?:^|[(,[]|[^=!<>]=|[-+*]=|\breturn)\s*$/.test(
        code.slice(0, at - word.length),
      ) && /^\s*(?:$|[;),\]])/.test(code.slice(end + 1));
      out += inline.atomic || isAlone ? call : `(${call})`;
      at = end + 1;
      continue;
    }
    const value = isMember ? undefined : values.get(word);
    const binding = isMember ? undefined : bindings.get(word);
    if (value !== undefined) out += `\${${value.text}}${value.suffix}`;
    else if (binding !== undefined) out += binding;
    else if (!isMember && isIndex(word)) out += `\${${word}}${indices.get(word) ?? ""}`;
    else out += numbered(word, isIndex);
  }
  return out;
}

/** True where neither the text nor what inline functions in it become needs parentheses among operators. */
export function staysAtomic(text: string, { inlines }: Names): boolean {
  const calls = [...text.matchAll(/(\w+)\(/g)].map(([, name]) => inlines.get(name));
  return isAtomic(text) && calls.every((inline) => inline === undefined || inline.atomic);
}

/** `s_i_j` with the numbers of `i` and `j`; the bindings `in_k` and `out_k` become `in0`, `out0`. */
function numbered(word: string, isIndex: (name: string) => boolean): string {
  const [head, ...parts] = word.split("_");
  if (parts.length === 1 && isIndex(parts[0]) && /^(?:in|out)$/.test(head)) {
    return `${head}\${${parts[0]}}`;
  }
  return [head, ...parts.map((part) => isIndex(part) ? `\${${part}}` : part)].join("_");
}

/** Where the bracket at `open` closes. */
function closing(code: string, open: number): number {
  let depth = 0;
  for (let i = open; i < code.length; i++) {
    if (/[([]/.test(code[i])) depth++;
    else if (/[)\]]/.test(code[i]) && --depth === 0) return i;
  }
  throw new Error(`A bracket is open in ${code}`);
}

/** Arguments of a call. */
function split(text: string): string[] {
  const parts: string[] = [];
  let depth = 0, from = 0;
  for (let i = 0; i <= text.length; i++) {
    const c = text[i] ?? ",";
    if (/[([]/.test(c)) depth++;
    else if (/[)\]]/.test(c)) depth--;
    else if (c === "," && depth === 0) {
      if (i > from || parts.length > 0) parts.push(text.slice(from, i).trim());
      from = i + 1;
    }
  }
  return parts;
}

/** True where text needs no parentheses among operators. */
function isAtomic(text: string): boolean {
  let depth = 0;
  for (const c of text) {
    if (c === "(" || c === "[") depth++;
    else if (c === ")" || c === "]") depth--;
    else if (depth === 0 && !/[\w.<>]/.test(c)) return false;
  }
  return !text.startsWith("(") || text.endsWith(")");
}

/** `ROW_COUNT`, `RowCount` and `row_count` become `rowCount`. */
export function camel(name: string): string {
  const words = /[a-z]/.test(name) ? name : name.toLowerCase();
  return words.replace(/_(\w)/g, (_, c: string) => c.toUpperCase()).replace(
    /^./,
    (c) => c.toLowerCase(),
  );
}
