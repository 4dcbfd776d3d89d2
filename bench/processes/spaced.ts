/** The order in which reports arrive: those of a message are 100 events apart. */

/** Reports of each message. */
export const REPORTS = Number(process.env['REPORTS'] ?? 1)
const SPACING = 100

/** The report and the message at this position of the sequence. */
export function reportAt(at: number): readonly [report: number, message: number] {
  const round = SPACING * REPORTS
  return [Math.floor((at % round) / SPACING), Math.floor(at / round) * SPACING + (at % SPACING)]
}
