/**
 * The kernels that sample images, by how.
 */
export {
  prepareBilinear as bilinear,
  prepareCrop as crop,
  prepareNearest as nearest,
} from "./image/resize.ts";
export { prepareRotation as rotation, prepareTransform as transform } from "./image/warp.ts";
