/**
 * `tf.device_util`: what kind of device this is.
 */
export { isBrowser } from "./platform.ts";

let isMobileMocked: boolean | undefined;

/** Makes {@linkcode isMobile} answer this; undefined ends that. */
export function mockIsMobile(value: boolean | undefined): void {
  isMobileMocked = value;
}

/** Whether this is a telephone or a tablet, by what the browser says of itself. */
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
