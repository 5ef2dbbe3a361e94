/** An op's form in GraphDefs that TensorFlow reads. */

/**
 * The replacement of an op in a portable GraphDef: `"parts"`, added by `src/tensorflow/portable/` or else its `expand`,
 * or nothing, for a reason. Or TensorFlow's op of the same name: in parts where it has more inputs than TensorFlow's
 * takes, or without some attributes, each with a test whether its value equals its absence.
 */
export type Portable =
  | "parts"
  | { readonly mostInputs: number }
  | { readonly never: string }
  | { readonly without: Readonly<Record<string, (value: unknown) => boolean>> };
