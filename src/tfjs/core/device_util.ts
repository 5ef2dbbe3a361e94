/** `tf.device_util`: the kind of the device. */
export { isBrowser } from "./platform.ts";

let isMobileMocked: boolean | undefined;

/** Sets the result of {@linkcode isMobile}; undefined restores detection. */
export function mockIsMobile(value: boolean | undefined): void {
  isMobileMocked = value;
}

/** True on a telephone or a tablet, by the browser's user agent. */
export function isMobile(
  nav: {
    userAgent?: string;
    vendor?: string;
    product?: string;
    userAgentData?: { mobile?: boolean };
  } | undefined = globalThis.navigator as Navigator | undefined,
): boolean {
  if (isMobileMocked !== undefined) return isMobileMocked;
  if (nav === undefined) return false;
  if (nav.product === "ReactNative") return true;
  if (typeof nav.userAgentData?.mobile === "boolean") return nav.userAgentData.mobile;
  return /Android|iPhone|iPad|iPod|Windows Phone|BlackBerry|Opera Mini|Mobile/i.test(
    nav.userAgent ?? nav.vendor ?? "",
  );
}
