/** Tests that need something that this machine may not have: skipped by name, with the reason in it. */

/** The title as `skipped-suites.ts` reads it: with the reason, where there is one, in brackets at its end. */
export function titleWith(reason: string | undefined, title: string): string {
  return reason === undefined ? title : `${title} (${reason})`
}
