/**
 * WGSL of eight neighbours that one load brings: four words of 64 bits, the even elements in their low halves and the odd
 * ones in their high halves. For elements of 32 bits, where the profile has `words64`.
 * May import nothing.
 */

/** Storage type of eight elements. */
export const EIGHT = "vec4<u64>";

/** Texts of the even and of the odd four of the eight that `text` is, as vectors of `type`. */
export function splitEight(type: string, text: string): readonly [string, string] {
  const halves = [`vec4<u32>(${text})`, `vec4<u32>(${text} >> vec4<u32>(32u))`] as const;
  return type === "u32"
    ? halves
    : [`bitcast<vec4<${type}>>(${halves[0]})`, `bitcast<vec4<${type}>>(${halves[1]})`];
}

/** Text of the eight elements whose even and odd four these are, vectors of `type`. */
export function joinEight(type: string, even: string, odd: string): string {
  const word = (four: string): string =>
    `vec4<u64>(${type === "u32" ? four : `bitcast<vec4<u32>>(${four})`})`;
  return `${word(even)} | (${word(odd)} << vec4<u32>(32u))`;
}
