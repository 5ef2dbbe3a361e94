/**
 * What an op says about itself for GraphDefs that TensorFlow reads.
 */

/**
 * What a portable GraphDef has in place of an op of our own: `"parts"`, what `src/tensorflow/portable/` or else its `expand` adds, or
 * nothing, for a reason. Or TensorFlow's op of the same name: in parts where it has more inputs than TensorFlow's takes, or without
 * some attributes, each with the test whether a value means no more than its absence does.
 */
export type Portable =
  | "parts"
  | { readonly mostInputs: number }
  | { readonly never: string }
  | { readonly without: Readonly<Record<string, (value: unknown) => boolean>> };
