/** A clock that all processes of one machine share: a measurement may start and end in different processes. */

/** Milliseconds since an arbitrary moment before every process of this benchmark. */
export function sharedNowMs(): number {
  return Number(process.hrtime.bigint()) / 1e6
}
