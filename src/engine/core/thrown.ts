/**
 * Safe reading of a user's thrown value: it may be any value, with getters that throw, a message that is no text, or a
 * proxy.
 */

/** Fields that error texts are made of: name and message first. */
const FIELDS = ["name", "message", "stack", "code", "op", "node", "inputs", "cause"];

/**
 * Returns a value that is safe to read in place of a thrown one: an error whose name and message are texts, or a
 * primitive. A readable error is returned itself; an unreadable one gets a stand-in of its class, and any other object
 * its text. `fields` are those that will be read, name and message first:
 * that of the stack costs more than all others.
 */
export function readable(thrown: unknown, fields: readonly string[] = FIELDS): unknown {
  if (thrown === null || (typeof thrown !== "object" && typeof thrown !== "function")) {
    return thrown;
  }
  try {
    if (!(thrown instanceof Error)) return textOf(thrown);
  } catch {
    return textOf(thrown);
  }
  const values = fields.map((key) => fieldOf(thrown, key));
  const [name, message] = values;
  const isReadable = !values.includes(UNREADABLE) && typeof name === "string" &&
    typeof message === "string";
  return isReadable ? thrown : standIn(thrown, fields, values);
}

const UNREADABLE = Symbol("unreadable");

function fieldOf(thrown: object, key: string): unknown {
  try {
    return (thrown as Record<string, unknown>)[key];
  } catch {
    return UNREADABLE;
  }
}

/** Makes an error of the same class with the readable fields; name and message become texts. */
function standIn(thrown: Error, fields: readonly string[], values: readonly unknown[]): unknown {
  const own: PropertyDescriptorMap = {};
  fields.forEach((key, i) => {
    const value = values[i] === UNREADABLE ? undefined : values[i];
    own[key] = { value: i < 2 ? textOf(value ?? (i === 0 ? "Error" : "")) : value };
  });
  try {
    return Object.create(Object.getPrototypeOf(thrown), own);
  } catch {
    return textOf(thrown);
  }
}

export function textOf(value: unknown): string {
  for (const text of [String, (v: unknown) => Object.prototype.toString.call(v)]) {
    try {
      return text(value);
    } catch {
      // The next conversion asks less of the value.
    }
  }
  return "a value that cannot be read";
}

/** Returns the message of an error, the text of any other value. */
export function messageOf(thrown: unknown): string {
  const read = readable(thrown, ["name", "message"]);
  return read instanceof Error ? read.message : textOf(read);
}
