/** Settings of optimizers besides their learning rate. */
import { wantBoolean, wrongArgument } from "../../engine/core/arguments.ts";

/** Settings that are true or false; the others of the library's optimizers are numbers. */
const FLAGS: ReadonlySet<string> = new Set(["centered", "nesterov", "relativeStep", "useNesterov"]);

/** Returns settings. Throws `TypeError` for a flag that is none, and for an options object in the position of a number. */
export function checkedSettings<T extends Readonly<Record<string, unknown>>>(
  settings: T,
  of: string,
): T {
  for (const [name, value] of Object.entries(settings)) {
    if (FLAGS.has(name)) wantBoolean(value, name, of);
    else if (value?.constructor === Object) throw wrongArgument(value, name, of, "a number");
  }
  return settings;
}
