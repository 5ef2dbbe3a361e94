/** Completion and documentation from the library's reference. */
/// <reference lib="dom" />

import type { Completion, CompletionContext, CompletionResult } from "@codemirror/autocomplete";
import { syntaxTree } from "@codemirror/language";
import type { EditorState } from "@codemirror/state";
import type { EditorView, Tooltip } from "@codemirror/view";
import type { ApiName, ApiNames } from "./api_names.ts";
import { type Meaning, meaningOf, nameOf } from "./meanings.ts";

const EMPTY: ApiNames = { names: {}, types: {} };

let loading: Promise<ApiNames> | undefined;

/** Loads the names when they are first asked for. */
function load(): Promise<ApiNames> {
  return loading ??= (async () => {
    const response = await fetch(new URL("./api.json", import.meta.url));
    return response.ok ? await response.json() : EMPTY;
  })();
}

/** Kinds of names by those that the editor has pictures for. */
const PICTURES: Readonly<Record<string, string>> = {
  function: "function",
  class: "class",
  value: "constant",
  enum: "enum",
  interface: "interface",
  type: "type",
  namespace: "namespace",
  method: "method",
  property: "property",
};

/** Kinds of names that programs seldom write: they come last. */
const TYPES = ["interface", "type"];

/** Completes what stands behind a dot. */
export async function completions(context: CompletionContext): Promise<CompletionResult | null> {
  const dot = context.matchBefore(/\.\s*[\w$]*/);
  if (dot === null) return null;
  const api = await load(), { state } = context;
  // The expression that ends where the dot is.
  let node = syntaxTree(state).resolveInner(dot.from, -1);
  while (node.parent?.to === dot.from) node = node.parent;
  const meaning = meaningOf(node, state.doc.toString(), api);
  if (meaning === null) return null;
  const options = [...membersOf(meaning, api)].map(([label, name]): Completion => ({
    label,
    type: PICTURES[name.kind] ?? "variable",
    detail: name.type && `: ${name.type}`,
    boost: TYPES.includes(name.kind) ? -50 : 0,
    info: () => helpFor(name),
  }));
  const start = dot.to - dot.text.replace(/^\.\s*/, "").length;
  return options.length === 0 ? null : { from: start, options, validFor: /^[\w$]*$/ };
}

/** Names that may stand behind the dot of an expression. */
function membersOf(meaning: Meaning, api: ApiNames): Map<string, ApiName> {
  const found = new Map<string, ApiName>();
  if ("space" in meaning) {
    const prefix = meaning.space === "" ? "" : `${meaning.space}.`;
    for (const [full, name] of Object.entries(api.names)) {
      if (!full.startsWith(prefix)) continue;
      const [first, ...inner] = full.slice(prefix.length).split(".");
      if (inner.length === 0) found.set(first!, name);
      else if (!found.has(first!)) found.set(first!, spaceName(prefix + first));
    }
    return found;
  }
  const wanted = [meaning.type];
  for (let i = 0; i < wanted.length && i < 20; i++) {
    const type = api.types[wanted[i]!];
    if (type === undefined) continue;
    for (const [label, name] of Object.entries(type.members)) {
      if (!found.has(label)) found.set(label, name);
    }
    wanted.push(...type.bases);
  }
  return found;
}

const spaceName = (full: string): ApiName => ({
  kind: "namespace",
  signature: `tf.${full}`,
  about: "",
  type: "",
  place: `./api_tf_${full.replaceAll(".", "_").toLowerCase()}.html`,
});

/** Declaration, first sentence and place of a name. */
function helpFor({ signature, about, place }: ApiName): HTMLElement {
  const help = document.createElement("div"), link = document.createElement("a");
  help.className = "cm-help";
  const code = document.createElement("code"), text = document.createElement("p");
  code.textContent = signature;
  link.href = place;
  link.target = "_blank";
  link.textContent = "Reference";
  text.append(about === "" ? "" : `${about} `, ...(place === "" ? [] : [link]));
  help.append(code, text);
  return help;
}

/** The documentation of the name at a place of the program. */
export async function documentation(view: EditorView, pos: number): Promise<Tooltip | null> {
  const api = await load(), found = nameAt(view.state, pos, api);
  return found && { pos: found.from, end: found.to, create: () => ({ dom: helpFor(found.name) }) };
}

function nameAt(
  state: EditorState,
  pos: number,
  api: ApiNames,
): { readonly from: number; readonly to: number; readonly name: ApiName } | null {
  const node = syntaxTree(state).resolveInner(pos, -1), text = state.doc.toString();
  const { from, to } = node, name = nameOf(node, text, api);
  return name && { from, to, name };
}
