/** Every op: a graph may have any of them. Other pages load the ops that they name. */
import "../../../src/modules_generated.ts";
