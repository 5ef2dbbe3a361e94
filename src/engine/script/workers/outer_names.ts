/**
 * Finds the outer names that a function's source uses and that it would lack in a worker. Only certain uses are
 * reported: a name that the source declares anywhere, or tests with `typeof`, counts as its own.
 */
import { type Token, tokensOf } from "./source_tokens.ts";

const NOT_NAMES = new Set(
  ("arguments as async await break case catch class const continue debugger default delete do else enum export extends false " +
    "finally for from function get if import in instanceof let new null of return set static super switch this throw true try " +
    "typeof undefined using var void while with yield").split(" "),
);
const DECLARE = new Set(["const", "let", "var", "using"]);
/** Keywords before parentheses and a block: no methods. */
const STATEMENTS = new Set(["if", "for", "while", "switch", "with"]);

/** Returns the outer names in a source text, each once; a member of `members`' objects as `object.member`. */
export function outerNames(source: string, members: ReadonlySet<string> = new Set()): string[] {
  const tokens = tokensOf(source);
  if (tokens === null) return [];
  const ends = endsOf(tokens);
  const own = ownNames(tokens, ends);
  const names = new Set<string>();
  tokens.forEach((token, i) => {
    const { text } = token;
    if (token.kind !== "name" || NOT_NAMES.has(text) || own.has(text)) return;
    if (!isUse(tokens, i)) return;
    const member = tokens[i + 2];
    if (members.has(text) && tokens[i + 1]?.text === "." && member?.kind === "name") {
      names.add(`${text}.${member.text}`);
    } else names.add(text);
  });
  return [...names];
}

/** True for a name that stands for a variable: no property, key or label. */
function isUse(tokens: readonly Token[], i: number): boolean {
  const before = tokens[i - 1], after = tokens[i + 1];
  if (before?.text === "." || before?.text === "?.") return false;
  if (before?.text === "break" || before?.text === "continue") return false;
  if (after?.text !== ":") return true;
  return before?.text === "?" || before?.text === "case";
}

/** Returns the closing bracket of each opening one, by token number; -1 for other tokens. */
function endsOf(tokens: readonly Token[]): Int32Array {
  const ends = new Int32Array(tokens.length).fill(-1), open: number[] = [];
  tokens.forEach(({ kind, text }, i) => {
    if (kind !== "mark") return;
    if (text === "(" || text === "[" || text === "{") open.push(i);
    else if (text === ")" || text === "]" || text === "}") ends[open.pop()!] = i;
  });
  return ends;
}

/** Returns every name declared anywhere in the text, perhaps more. */
function ownNames(tokens: readonly Token[], ends: Int32Array): Set<string> {
  const own = new Set<string>();
  const addAll = (from: number, to: number): void => {
    for (let i = from; i < to; i++) if (tokens[i].kind === "name") own.add(tokens[i].text);
  };
  tokens.forEach(({ kind, text }, i) => {
    const next = tokens[i + 1];
    if (text === "(" && kind === "mark") {
      const after = tokens[ends[i] + 1]?.text;
      const isHead = i > 1 && STATEMENTS.has(tokens[i - 1].text);
      if (after === "=>" || (after === "{" && !isHead)) {
        // Parameters, or arguments of a call.
        addAll(i, ends[i]);
        if (tokens[i - 1]?.kind === "name") own.add(tokens[i - 1].text);
      }
    }
    if (kind !== "name") return;
    if (next?.text === "=>" || text === "typeof") {
      own.add(text === "typeof" ? next?.text ?? "" : text);
    }
    if (text === "class" || text === "function") {
      const name = next?.text === "*" ? tokens[i + 2] : next;
      if (name?.kind === "name") own.add(name.text);
    }
    if (text === "class") addFields(tokens, ends, i, own);
    if (DECLARE.has(text) && next !== undefined) addDeclared(tokens, ends, i + 1, own);
  });
  return own;
}

/** Adds the names of a declaration, from the token after its keyword. */
function addDeclared(
  tokens: readonly Token[],
  ends: Int32Array,
  from: number,
  own: Set<string>,
): void {
  let isTarget = true, wasTarget = false;
  for (let i = from; i < tokens.length; i++) {
    const { kind, text } = tokens[i];
    if (isTarget && kind === "name") own.add(text);
    if (ends[i] >= 0) {
      for (let k = i; isTarget && k < ends[i]; k++) {
        if (tokens[k].kind === "name") own.add(tokens[k].text);
      }
      i = ends[i];
    } else if (kind === "mark" && (text === ";" || text === ")" || text === "]" || text === "}")) {
      return;
    } else if (wasTarget && (text === "of" || text === "in")) return;
    wasTarget = isTarget;
    isTarget = kind === "mark" && text === ",";
  }
}

/** Adds the fields and methods of a class. */
function addFields(tokens: readonly Token[], ends: Int32Array, at: number, own: Set<string>): void {
  let i = at;
  while (i < tokens.length && !(tokens[i].kind === "mark" && tokens[i].text === "{")) {
    i = Math.max(ends[i], i) + 1;
  }
  for (let k = i + 1; k < ends[i]; k++) {
    if (ends[k] >= 0) k = ends[k];
    else if (tokens[k].kind === "name") own.add(tokens[k].text);
  }
}
