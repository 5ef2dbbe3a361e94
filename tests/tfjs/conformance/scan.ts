// Static scan of one test file: which API names each spec uses, and which of those the library under test lacks.
//
// A spec that needs a missing function is rewritten to a skip that says so, before the file is bundled. The scan walks
// the syntax tree, so it sees `tf.image.cropAndResize` as well as `import { tensor1d } from "./tensor1d"`, and needs no
// Proxy around the library: what runs is the library itself.

/** A node of the syntax tree, as acorn makes it. */
interface SyntaxNode {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [key: string]: unknown;
}

/** The used part of the parser. */
export interface Parser {
  parse(source: string, options: { ecmaVersion: "latest"; sourceType: "module" }): SyntaxNode;
}

/** The library under test, as far as the scan looks at it. */
export interface Surface {
  /** The tests' `tf`. */
  readonly api: object;
  /** Methods of tensors that TensorFlow.js has and this library lacks. */
  readonly missingMethods: ReadonlySet<string>;
}

/** True where an import in a test file leads to the library under test rather than to a helper. */
export type ImportsSubject = (specifier: string) => boolean;

/** A change to the source text: replace [start, end) by `text`. */
interface Edit {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/** The result of scanning one file. */
export interface Scanned {
  /** The source with skips written in; null where the whole file cannot run. */
  readonly source: string | null;
  /** API names that the file as a whole needs and the library lacks. */
  readonly fileMissing: readonly string[];
  /** Number of `it` calls written in the file. */
  readonly specs: number;
}

interface Scope {
  readonly kind: "file" | "suite" | "spec";
  readonly node: SyntaxNode;
  readonly missing: Set<string>;
  readonly children: Scope[];
}

const SUITE_CALLS: ReadonlySet<string> = new Set(["describe", "describeWithFlags"]);

function isNode(value: unknown): value is SyntaxNode {
  return typeof value === "object" && value !== null &&
    typeof (value as SyntaxNode).type === "string";
}

function childrenOf(node: SyntaxNode): SyntaxNode[] {
  const found: SyntaxNode[] = [];
  for (const value of Object.values(node)) {
    if (isNode(value)) found.push(value);
    else if (Array.isArray(value)) found.push(...value.filter(isNode));
  }
  return found;
}

/** Local names bound to the library: the whole namespace (`*`) or one export of it. */
function subjectBindings(program: SyntaxNode, importsSubject: ImportsSubject): Map<string, string> {
  const bindings = new Map<string, string>();
  for (const statement of childrenOf(program)) {
    if (statement.type !== "ImportDeclaration") continue;
    const specifier = (statement.source as SyntaxNode).value as string;
    if (!importsSubject(specifier)) continue;
    for (const binding of statement.specifiers as SyntaxNode[]) {
      const local = (binding.local as SyntaxNode).name as string;
      const isNamespace = binding.type === "ImportNamespaceSpecifier";
      bindings.set(local, isNamespace ? "*" : (binding.imported as SyntaxNode).name as string);
    }
  }
  return bindings;
}

/** The dotted name a member chain spells, outermost first; null where it does not start at a bound name. */
function chainOf(node: SyntaxNode, bindings: Map<string, string>): string[] | null {
  if (node.type === "Identifier") {
    const bound = bindings.get(node.name as string);
    return bound === undefined ? null : bound === "*" ? [] : [bound];
  }
  if (node.type !== "MemberExpression" || node.computed === true) return null;
  const head = chainOf(node.object as SyntaxNode, bindings);
  return head && [...head, (node.property as SyntaxNode).name as string];
}

/**
 * The shortest prefix of a dotted name that the library lacks, or null where it has it all. Functions, classes and
 * values end the walk: what lies behind them is behaviour for the tests to judge, not presence.
 */
export function missingPrefix(subject: object, chain: readonly string[]): string | null {
  let value: unknown = subject;
  for (const [i, name] of chain.entries()) {
    if (typeof value !== "object" || value === null) return null;
    value = (value as Record<string, unknown>)[name];
    if (value === undefined) return `tf.${chain.slice(0, i + 1).join(".")}`;
  }
  return null;
}

function calleeName(node: SyntaxNode): string | null {
  if (node.type !== "CallExpression") return null;
  const callee = node.callee as SyntaxNode;
  return callee.type === "Identifier" ? callee.name as string : null;
}

/** The method that a call on some value names; `Math.abs(…)` and the like are no methods of a tensor. */
function methodCalled(node: SyntaxNode): string | null {
  const callee = node.callee as SyntaxNode | undefined;
  if (node.type !== "CallExpression" || callee?.type !== "MemberExpression") return null;
  const receiver = callee.object as SyntaxNode;
  if (callee.computed === true || receiver.name === "Math") return null;
  return (callee.property as SyntaxNode).name as string;
}

/** The text of a spec's name argument: the string itself, or its source where it is computed. */
function nameOf(call: SyntaxNode, source: string): string {
  const name = (call.arguments as SyntaxNode[])[0];
  if (name === undefined) return "(unnamed)";
  return typeof name.value === "string" ? name.value : source.slice(name.start, name.end);
}

function specNames(scope: Scope, source: string): string[] {
  if (scope.kind === "spec") return [nameOf(scope.node, source)];
  return scope.children.flatMap((child) => specNames(child, source));
}

function collectEdits(scope: Scope, source: string, edits: Edit[]): void {
  const reason = [...scope.missing].sort().join(", ");
  if (scope.kind !== "file" && scope.missing.size > 0) {
    const callee = scope.node.callee as SyntaxNode;
    if (scope.kind === "spec") {
      edits.push({
        start: callee.start,
        end: callee.end,
        text: `it.missing(${JSON.stringify(reason)})`,
      });
      return;
    }
    // The body of such a suite may use what is missing while it registers specs, so it is not run at all.
    const name = nameOf(scope.node, source);
    const names = specNames(scope, source);
    const text = `describe.missing(${JSON.stringify(reason)}, ${JSON.stringify(name)}, ${
      JSON.stringify(names)
    })`;
    edits.push({ start: scope.node.start, end: scope.node.end, text });
    return;
  }
  for (const child of scope.children) collectEdits(child, source, edits);
}

/** Scans a test file against the library under test and writes in the skips it needs. */
export function scanTestFile(
  source: string,
  { parser, surface, importsSubject }: {
    parser: Parser;
    surface: Surface;
    importsSubject: ImportsSubject;
  },
): Scanned {
  const program = parser.parse(source, { ecmaVersion: "latest", sourceType: "module" });
  const bindings = subjectBindings(program, importsSubject);
  const file: Scope = { kind: "file", node: program, missing: new Set(), children: [] };

  function visit(node: SyntaxNode, scope: Scope): void {
    if (node.type === "ImportDeclaration") return;
    const called = calleeName(node);
    let inner = scope;
    if (called === "it" || (called !== null && SUITE_CALLS.has(called))) {
      inner = { kind: called === "it" ? "spec" : "suite", node, missing: new Set(), children: [] };
      scope.children.push(inner);
    }
    const chain = chainOf(node, bindings);
    if (chain !== null) {
      const missing = missingPrefix(surface.api, chain);
      if (missing !== null) scope.missing.add(missing);
      return;
    }
    const method = methodCalled(node);
    if (method !== null && surface.missingMethods.has(method)) {
      // A function of the library is no method, even where both have one name.
      const isFunction = chainOf(node.callee as SyntaxNode, bindings) !== null;
      if (!isFunction) scope.missing.add(`.${method}()`);
    }
    for (const child of childrenOf(node)) {
      // A property name after a dot, or a key before a colon, is no use of a binding of that name.
      if (node.type === "MemberExpression" && child === node.property && node.computed !== true) {
        continue;
      }
      if (node.type === "Property" && child === node.key && node.shorthand !== true) continue;
      visit(child, inner);
    }
  }
  visit(program, file);

  const specs = specNames(file, source).length;
  const fileMissing = [...file.missing].sort();
  if (fileMissing.length > 0) return { source: null, fileMissing, specs };
  const edits: Edit[] = [];
  collectEdits(file, source, edits);
  let text = source;
  for (const edit of edits.sort((a, b) => b.start - a.start)) {
    text = text.slice(0, edit.start) + edit.text + text.slice(edit.end);
  }
  return { source: text, fileMissing, specs };
}
