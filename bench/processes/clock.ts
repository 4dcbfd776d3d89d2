/** A clock that all processes of one machine share: both ends of a measurement may be in different ones. */

/** Milliseconds since some moment before every process of this benchmark. */
export function sharedNowMs(): number {
  return Number(process.hrtime.bigint()) / 1e6
}
