/** Values as text, for messages of failed tests. */

const MOST = 2000;

const CUSTOM = Symbol.for("Deno.customInspect");

/** A value as it says itself, or as something like JSON; long texts are cut. */
export function inspect(value: unknown): string {
  const shown = (value as Record<symbol, unknown> | null | undefined)?.[CUSTOM];
  if (typeof shown === "function") return shown.call(value, inspect, {});
  let text: string | undefined;
  try {
    text = JSON.stringify(value, (_, v) => {
      if (typeof v === "bigint") return `${v}n`;
      if (typeof v === "number" && !Number.isFinite(v) || Object.is(v, -0)) return `${v}`;
      if (ArrayBuffer.isView(v)) return Array.from(v as Float32Array);
      if (v instanceof Error) return `${v.name}: ${v.message}`;
      return v;
    });
  } catch {
    // It holds itself.
  }
  text ??= String(value);
  return text.length > MOST ? `${text.slice(0, MOST)}…` : text;
}
