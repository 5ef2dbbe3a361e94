/**
 * Host ops every graph has: placeholders that were not fed, and NoOp.
 * May import core and runtime files.
 */
import { setHostOp } from "./run_context.ts";
import { unfedPlaceholder } from "./feeds.ts";

setHostOp("Placeholder", ({ node, attrs }) => {
  throw unfedPlaceholder(node, attrs.dtype, attrs.shape);
});
setHostOp("NoOp", () => []);
