/**
 * The part of the reference that the site's editor reads.
 *
 * @module
 */

import type { ApiName, ApiNames, ApiType } from "../../examples/site/editing/api_names.ts";
import type { ApiEntry, ApiMember, ApiSymbol } from "./api.ts";
import { firstSentence } from "./docs.ts";

/** Types that are tensors by other names, and of methods that return one. */
const TENSORS = ["Like", "EagerTensor", "ChainedBinary"];

/** Makes it from the main entry; `placeOf` leads names to their documentation. */
export function editorNames(
  { groups }: ApiEntry,
  placeOf: (name: string) => string,
): ApiNames {
  const symbols = groups.flatMap((group) => group.symbols);
  const classes = symbols.filter(({ kind }) => kind === "class" || kind === "interface");
  const known = new Set(classes.map(({ name }) => name));
  /** The full name of a type that the declaration of `from` names: the one of its own namespace comes first. */
  const typeOf = (type: string, from: string): string => {
    const last = TENSORS.includes(type) ? "Tensor" : type;
    if (last === "this") return last;
    const beside = from.replace(/[^.]*$/, last);
    return [beside, last].find((name) => known.has(name)) ?? "";
  };
  const names = symbols.map((symbol): [string, ApiName] => {
    const { name, kind, signatures, doc, type } = symbol;
    return [name, {
      kind,
      signature: signatures.join("\n"),
      about: aboutOf(doc),
      type: kind === "class" ? name : typeOf(type, name),
      place: placeOf(name),
    }];
  });
  const types = classes.map((symbol): [string, ApiType] => {
    const { name, signatures } = symbol, of = (type: string) => typeOf(type, name);
    const bases = basesOf(signatures).map(of).filter((base) => base !== "" && base !== name);
    return [name, { bases, members: membersOf(symbol, placeOf(name), of) }];
  });
  return { names: Object.fromEntries(names), types: Object.fromEntries(types) };
}

function membersOf(
  { members }: ApiSymbol,
  place: string,
  typeOf: (type: string) => string,
): Record<string, ApiName> {
  const found: Record<string, ApiName> = {};
  for (const { signature, doc, type } of members) {
    const [, name, call] = /^(?:(?:readonly|abstract|async|get) )*([\w$]+)\??(<|\()?/.exec(
      signature,
    ) ?? [];
    if (name === undefined || /^(constructor|static|set|declare)$/.test(name)) continue;
    const isProperty = call === undefined || /^(abstract |override )*get /.test(signature);
    const { signature: before, about } = found[name] ?? { signature: "", about: "" };
    found[name] = {
      kind: isProperty ? "property" : "method",
      signature: before === "" ? signature : `${before}\n${signature}`,
      about: about || aboutOf(doc),
      type: typeOf(type),
      place,
    };
  }
  return found;
}

/** Types that heads of declarations extend. */
function basesOf(heads: readonly string[]): string[] {
  return heads.flatMap((head) => {
    let plain = head;
    for (let next; (next = plain.replaceAll(/<[^<>]*>/g, "")) !== plain;) plain = next;
    const [, list = ""] = /\bextends ([\w., ]+?)(?: implements|$)/.exec(plain) ?? [];
    return list.split(",").map((name) => name.trim().split(".").at(-1)!).filter((n) => n !== "");
  });
}

const aboutOf = (doc: ApiMember["doc"]): string => firstSentence(doc).replaceAll("`", "");
