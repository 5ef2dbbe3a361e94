/** Parses einsum equations. */
import { wantString } from "../../core/arguments.ts";
import { ValueError } from "../../core/errors.ts";

/** A parsed equation: an ellipsis is the label `...`. */
export interface EinsumEquation {
  /** Labels of each operand. */
  readonly inputs: readonly (readonly string[])[];
  /** Labels of the result. */
  readonly output: readonly string[];
  /** The equation with its output, without spaces. */
  readonly text: string;
}

/** An equation with a label for each axis. */
export interface EinsumTerms extends Pick<EinsumEquation, "inputs" | "output"> {
  /** Labels of the axes of an ellipsis. */
  readonly dots: ReadonlySet<string>;
}

/** The label of an ellipsis. */
export const DOTS = "...";

/** Reads an equation. Throws `ValueError` where it cannot be read. */
export function parseEinsum(equation: string): EinsumEquation {
  wantString(equation, "equation", "einsum");
  const plain = equation.replaceAll(/\s/g, "");
  const sides = plain.split("->");
  if (sides.length > 2) {
    throw new ValueError(
      `Cannot read einsum equation "${equation}": wanted exactly one arrow, received ${
        sides.length - 1
      }`,
    );
  }
  const inputs = sides[0].split(",").map((term) => labelsOf(term, equation));
  const output = sides.length === 2 ? labelsOf(sides[1], equation) : implied(inputs);
  const known = new Set(inputs.flat());
  for (const [i, label] of output.entries()) {
    if (!known.has(label)) {
      throw new ValueError(
        `Cannot read einsum equation "${equation}": Output subscripts contain the label ${label} not present in the input subscripts`,
      );
    }
    if (output.indexOf(label) !== i) {
      throw new ValueError(
        `Cannot read einsum equation "${equation}": the output has the label ${label} twice`,
      );
    }
  }
  return { inputs, output, text: `${sides[0]}->${output.join("")}` };
}

function labelsOf(term: string, equation: string): string[] {
  const labels = term.match(/\.\.\.|[a-zA-Z]/g) ?? [];
  if (labels.join("") !== term || labels.filter((l) => l === DOTS).length > 1) {
    throw new ValueError(
      `Cannot read einsum equation "${equation}": wanted letters, and at most one ellipsis an operand, received "${term}"`,
    );
  }
  return labels;
}

/** Returns the implied output: the ellipsis, then the letters that occur once, in order. */
function implied(inputs: readonly (readonly string[])[]): string[] {
  const all = inputs.flat();
  const once = [...new Set(all)].filter((l) => l !== DOTS && all.indexOf(l) === all.lastIndexOf(l))
    .sort();
  return all.includes(DOTS) ? [DOTS, ...once] : once;
}

/** Labels the axes of ellipses, aligned at their ends. Throws `ValueError` where a rank does not fit. */
export function resolveEllipses(
  { inputs, output }: EinsumEquation,
  ranks: readonly number[],
): EinsumTerms {
  let widest = 0;
  const widths = inputs.map((labels, i) => {
    const letters = labels.filter((l) => l !== DOTS).length;
    const width = ranks[i] - letters;
    if (width < 0 || (width > 0 && !labels.includes(DOTS))) {
      throw new ValueError(
        `Cannot compute einsum: operand ${i} has ${letters} subscripts ("${
          labels.join("")
        }") and rank ${ranks[i]}`,
      );
    }
    widest = Math.max(widest, width);
    return width;
  });
  const names = Array.from({ length: widest }, (_, i) => `.${i}`);
  const spread = (labels: readonly string[], width: number): string[] =>
    labels.flatMap((l) => (l === DOTS ? names.slice(widest - width) : [l]));
  return {
    inputs: inputs.map((labels, i) => spread(labels, widths[i])),
    output: spread(output, widest),
    dots: new Set(names),
  };
}
