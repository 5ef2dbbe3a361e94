/** The decoders of BMP and GIF, which are loaded together. */
export { bmpPixels } from "./bmp.ts";
export { gifFrames } from "./gif.ts";
