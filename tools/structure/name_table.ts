/**
 * The table of TensorFlow's public names in `docs/tensorflow_names.md`, written from what `tf` exports. The names are those of
 * TensorFlow 2.21, in `tensorflow_names.json`.
 *
 * @module
 */

import { ELSEWHERE, LEFT_OUT } from "./names_elsewhere.ts";
import NAMES from "./tensorflow_names.json" with { type: "json" };

/** The document. */
export const DOCUMENT = "docs/tensorflow_names.md";

/** Further namespaces in which names of one of TensorFlow's are looked for; "" is `tf` itself. */
const WIDE: Readonly<Record<string, readonly string[]>> = {
  "tf.nn": ["", "math"],
  "tf.math": [""],
  "tf.linalg": ["", "math"],
  "tf.image": ["io", ""],
  "tf.io": ["strings"],
  "tf.audio": ["io"],
  "tf.bitwise": [""],
  "tf.quantization": [""],
  "tf.sparse": [],
};

/** The name of TensorFlow's as TypeScript has it. */
export const camelCase = (name: string): string =>
  name.replace(/_([a-z0-9])/g, (_, letter) => letter.toUpperCase());

/** A name of TensorFlow's and where it is. */
export interface Row {
  readonly name: string;
  /** The name here, or words that tell what stands in its place. */
  readonly here: string | null;
  /** Place of that: under the same name in the same namespace, in `tf` itself, or elsewhere. */
  readonly place: "same" | "wide" | "other";
  /** The reason why it is left out. */
  readonly reason: string | null;
}

type Space = Readonly<Record<string, unknown>>;

const REASONS = new Map(
  Object.entries(LEFT_OUT).flatMap(([reason, names]) => names.map((name) => [name, reason])),
);

/** Returns the value of a name of ours; undefined for words and for what is not there. */
export function resolve(tf: Space, path: string): unknown {
  return path.split(".").reduce((at: unknown, key) => (at as Space | undefined)?.[key], tf);
}

/** Finds each name of a namespace among the exports. */
export function rowsOf(space: string, tf: Space): Row[] {
  const own = space === "tf" ? "" : space.slice(3);
  return (NAMES as Record<string, string[]>)[space].map((name) => {
    const wanted = camelCase(name);
    for (const at of [own, ...WIDE[space] ?? []]) {
      const exports = (at === "" ? tf : tf[at]) as Space | undefined,
        all = Object.keys(exports ?? {});
      const found = all.find((key) => key === wanted) ??
        all.find((key) => key.toLowerCase() === wanted.toLowerCase());
      if (found === undefined) continue;
      const here = at === "" ? found : `${at}.${found}`;
      const place = found !== wanted ? "other" : at === own ? "same" : at === "" ? "wide" : "other";
      return { name, here, place, reason: null };
    }
    const here = ELSEWHERE[`${space}.${name}`] ?? ELSEWHERE[`tf.${name}`] ?? null;
    const reason = REASONS.get(`${space}.${name}`) ?? null;
    return { name, here, place: "other", reason: here === null ? reason : null };
  });
}

const code = (names: readonly string[]): string => names.map((n) => `\`${n}\``).join(", ");

function section(space: string, rows: readonly Row[], tf: Space): string[] {
  const there = rows.filter(({ here }) => here !== null);
  const at = (place: Row["place"]): readonly Row[] => there.filter((row) => row.place === place);
  const names = (list: readonly Row[]): string => code(list.map(({ name }) => camelCase(name)));
  const moved = at("other").map(({ name, here }) =>
    `\`${name}\`: ${resolve(tf, here!) === undefined ? here : `\`${here}\``}`
  );
  const reasons = Map.groupBy(rows.filter((row) => row.reason !== null), (row) => row.reason);
  const missing = rows.filter((row) => row.here === null && row.reason === null);
  const part = (title: string, text: string): string[] =>
    text === "" ? [] : [`${title}: ${text}`, ""];
  return [
    `## ${space} (${there.length} of ${rows.length})`,
    "",
    ...part("As they are", names(at("same"))),
    ...part("In `tf` itself", names(at("wide"))),
    ...part("By another name", moved.join(", ")),
    ...[...reasons].flatMap(([why, list]) =>
      part(
        "Left out",
        `${code(list.map(({ name }) => name))}. ${why![0].toUpperCase()}${why!.slice(1)}.`,
      )
    ),
    ...part(`**Not there (${missing.length})**`, code(missing.map(({ name }) => name))),
  ];
}

/** The text of the document. */
export async function nameTableText(): Promise<string> {
  const tf = await import("../../mod.ts") as Space;
  return [
    "# TensorFlow's names",
    "",
    "The public names of TensorFlow 2.21 and where they are, in camelCase. `deno task op-table` writes this page.",
    "",
    ...Object.keys(NAMES).flatMap((space) => section(space, rowsOf(space, tf), tf)),
  ].join("\n");
}
