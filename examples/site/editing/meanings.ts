/** Meanings of expressions of a program to the library, as far as its declarations tell: enough for completion, and no more. */

import type { SyntaxNode } from "@lezer/common";
import type { ApiName, ApiNames } from "./api_names.ts";

/** A namespace of the library (empty for all of it), or a value of one of its types. */
export type Meaning = { readonly space: string } | { readonly type: string };

/** Most steps from an expression to what declares it. */
const MOST_STEPS = 40;

/** Returns the meaning of an expression; null where it has none or is not known. */
export function meaningOf(
  node: SyntaxNode,
  text: string,
  api: ApiNames,
  steps: number = MOST_STEPS,
): Meaning | null {
  if (steps === 0) return null;
  const of = (inner: SyntaxNode | null): Meaning | null =>
    inner && meaningOf(inner, text, api, steps - 1);
  const first = node.firstChild;
  switch (node.name) {
    case "VariableName":
      return ofVariable(node, text, api, steps);
    case "MemberExpression": {
      const name = nameOf(node.lastChild!, text, api, steps);
      if (name?.kind === "property" || name?.kind === "value") return typed(name);
      const inside = of(first);
      if (name !== null || inside === null || !("space" in inside)) return null;
      const space = joined(inside.space, textOf(node.lastChild!, text));
      return Object.keys(api.names).some((n) => n.startsWith(`${space}.`)) ? { space } : null;
    }
    case "CallExpression": {
      const name = first && nameOf(endOf(first), text, api, steps);
      if (name === null) return null;
      return name.type === "this" ? of(first!.firstChild) : typed(name);
    }
    case "NewExpression": {
      const name = first?.nextSibling && nameOf(endOf(first.nextSibling), text, api, steps);
      return name?.kind === "class" ? typed(name) : null;
    }
    case "UnaryExpression":
    case "AwaitExpression":
      return first && textOf(first, text) === "await" ? of(node.lastChild) : null;
    case "ParenthesizedExpression":
      return of(first?.nextSibling ?? null);
    case "PostfixExpression":
      return of(first);
  }
  return null;
}

/** Returns what the library says of the name that a node is: a variable that was imported, or what stands behind a dot. */
export function nameOf(
  node: SyntaxNode,
  text: string,
  api: ApiNames,
  steps: number = MOST_STEPS,
): ApiName | null {
  const name = textOf(node, text);
  if (node.name === "VariableName") {
    return imported(node, text).names.has(name) ? api.names[name] ?? null : null;
  }
  if (node.name !== "PropertyName") return null;
  const object = node.parent?.firstChild;
  const meaning = object ? meaningOf(object, text, api, steps - 1) : null;
  if (meaning === null) return null;
  if ("space" in meaning) return api.names[joined(meaning.space, name)] ?? null;
  return memberOf(meaning.type, name, api);
}

function memberOf(type: string, name: string, { types }: ApiNames, depth = 5): ApiName | null {
  const found = types[type];
  if (found === undefined || depth === 0) return null;
  if (Object.hasOwn(found.members, name)) return found.members[name]!;
  for (const base of found.bases) {
    const inherited = memberOf(base, name, { types, names: {} }, depth - 1);
    if (inherited !== null) return inherited;
  }
  return null;
}

/** Returns the meaning of a variable by its last declaration before the node. */
function ofVariable(
  node: SyntaxNode,
  text: string,
  api: ApiNames,
  steps: number,
): Meaning | null {
  const name = textOf(node, text), { space } = imported(node, text);
  if (name === space) return { space: "" };
  let last: SyntaxNode | null = null;
  rootOf(node).cursor().iterate(({ name: kind, from, node: found }) => {
    if (from >= node.from) return false;
    if (kind === "VariableDefinition" && textOf(found, text) === name) last = found;
  });
  return last && ofDeclaration(last, text, api, steps - 1);
}

function ofDeclaration(
  definition: SyntaxNode,
  text: string,
  api: ApiNames,
  steps: number,
): Meaning | null {
  const parent = definition.parent!, next = definition.nextSibling;
  if (next?.name === "TypeAnnotation") {
    // `tf.data.Dataset`, or `Dataset` where it was imported.
    const named = /(?:\w+\.)*[A-Z]\w*/.exec(textOf(next, text))?.[0] ?? "";
    const { space } = imported(definition, text);
    const type = named.startsWith(`${space}.`) ? named.slice(space.length + 1) : named;
    return type in api.types ? { type } : null;
  }
  // A parameter without a type is most often a tensor.
  if (parent.name === "ParamList") return { type: "Tensor" };
  if (parent.name !== "VariableDeclaration" || next?.name !== "Equals") return null;
  return next.nextSibling && meaningOf(next.nextSibling, text, api, steps);
}

/** The variable that has all of the library, and names that were imported by themselves. */
function imported(
  node: SyntaxNode,
  text: string,
): { readonly space: string; readonly names: ReadonlySet<string> } {
  const lines = text.slice(0, rootOf(node).to).matchAll(
    /\bimport\s*(?:\*\s*as\s+([\w$]+)|\{([^}]*)\})\s*from\s*["']@weft\/weft["']/g,
  );
  let space = "";
  const names = new Set<string>();
  for (const [, whole, list = ""] of lines) {
    space ||= whole ?? "";
    for (const item of list.split(",")) names.add(item.trim());
  }
  return { space, names };
}

const typed = ({ type }: ApiName): Meaning | null => type === "" ? null : { type };

/** The name in what is called: that behind the last dot. */
function endOf(node: SyntaxNode): SyntaxNode {
  return node.name === "MemberExpression" ? node.lastChild! : node;
}

function rootOf(node: SyntaxNode): SyntaxNode {
  let root = node;
  while (root.parent) root = root.parent;
  return root;
}

const textOf = ({ from, to }: SyntaxNode, text: string): string => text.slice(from, to);

const joined = (space: string, name: string): string => space === "" ? name : `${space}.${name}`;
