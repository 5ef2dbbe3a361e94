/**
 * What an op says about itself for GraphDefs that TensorFlow reads.
 */

/**
 * What a portable GraphDef has in place of an op of our own: `"parts"`, what `src/ops/portable/` or else its `expand` adds, or
 * nothing, for a reason. Or TensorFlow's op of the same name without some attributes: each has the test whether a value means no
 * more than its absence does.
 */
export type Portable =
  | "parts"
  | { readonly never: string }
  | { readonly without: Readonly<Record<string, (value: unknown) => boolean>> };
