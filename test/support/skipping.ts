/** Tests that need something that this machine may not have: skipped by name, with the reason in the name. */

/** The title in the format that `skipped-suites.ts` reads: the reason, if any, in brackets at its end. */
export function titleWith(reason: string | undefined, title: string): string {
  return reason === undefined ? title : `${title} (${reason})`
}
