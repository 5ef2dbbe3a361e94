/** Strings: ONNX has few ops on them, from version 20 on. */
import type { NodeWriter } from "../node_writer.ts";
import { numbers } from "../ref.ts";
import type { WriteRules } from "../rule.ts";

function wantsStrings(n: NodeWriter, op: string): void {
  if (n.target.opset < 20) n.lacks(`ONNX has ${op} from version 20 on, pass { opset: 20 }`);
}

export const TEXTS: WriteRules = {
  StaticRegexFullMatch: (n) => {
    wantsStrings(n, "RegexFullMatch");
    const pattern = n.attrs.pattern as string;
    return n.raw("RegexFullMatch", n.xs, { pattern }, [{ dtype: "bool" }])[0];
  },
  StringJoin: (n) => {
    wantsStrings(n, "StringConcat");
    const { separator } = n.attrs as { separator: string };
    const between = numbers("string", [0], []);
    (between.data as Uint8Array[])[0] = new TextEncoder().encode(separator);
    return n.xs.slice(1).reduce((joined, x) => {
      const left = separator === ""
        ? joined
        : n.node("StringConcat", [joined, n.constant(between)]);
      return n.node("StringConcat", [left, x]);
    }, n.xs[0]);
  },
};
