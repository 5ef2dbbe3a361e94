/** Running sums along an axis. */
import type { WriteRules } from "../rule.ts";

export const SCANS: WriteRules = {
  Cumsum: (n) => {
    const { exclusive, reverse } = n.attrs, [x] = n.xs;
    return n.node("CumSum", [x, n.scalar(n.axis(1, n.rank(x)), "int64")], {
      ...(exclusive && { exclusive: 1n }),
      ...(reverse && { reverse: 1n }),
    }, { operands: [0] });
  },
};
