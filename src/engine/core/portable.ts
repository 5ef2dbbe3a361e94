/** An op's form in GraphDefs that TensorFlow reads. */

/**
 * The replacement of an op in a portable GraphDef: `"parts"`, those of `tensorflow/graph_def/portable_parts.ts` or else
 * its `expand`; `never` with the reason of a refusal; or TensorFlow's op of the same name: in parts where it has more inputs than
 * `mostInputs`, `without` attributes that TensorFlow's lacks where the test of each is true for its value.
 */
export type Portable =
  | "parts"
  | { readonly mostInputs: number }
  | { readonly never: string }
  | { readonly without: Readonly<Record<string, (value: unknown) => boolean>> };
