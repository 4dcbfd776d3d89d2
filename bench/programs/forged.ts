/** What does a forged request cost? Small ones by their rate, 256 KiB by the CPU time they take. */
import { runRounds, type Lane } from '../measure/rounds.ts'
import { FIGURES_NOTE } from '../report/format.ts'
import type { Report } from '../report/report.ts'
import type { Settings } from '../settings.ts'
import { besideFirst, dataOf } from './lanes.ts'
import { describeRounds, roundsOf } from './program.ts'

/** Just under the default `maxBodyBytes`, whatever the signature adds. */
const LARGE_BYTES = 255 * 1_024
const MAX_LARGE = 100
const PROJECTS = 50

const FORGED = [
  ['bad digest, no authKey', 'forged-digest'],
  ['bad authKey, no signature', 'forged-key'],
  ['neither', 'forged-unsigned'],
  ['no JSON at all', 'forged-garbage'],
] as const

function lanesOf(shares: string, changes: Pick<Lane, 'start' | 'reports'>): readonly Lane[] {
  const contender = 'node-http-memory'
  return [
    { label: 'accepted: both proofs', contender, shares, fresh: true, ...changes },
    { label: 'accepted: signature only', contender, shares, fresh: true, scheme: 'service-signature-only', ...changes },
    ...FORGED.map(([label, scheme]) => {
      return {
        label: `refused: ${label}`,
        contender,
        shares,
        fresh: true,
        scheme,
        expect: 401,
        handled: false,
        ...changes,
      } as const
    }),
  ]
}

export async function runForged(settings: Settings): Promise<Report> {
  const small = roundsOf(settings)
  const measured = await runRounds(lanesOf('small', {}), small)
  const large = roundsOf(settings, { callbacks: Math.min(MAX_LARGE, settings.callbacks) })
  const reports = { bodyBytes: LARGE_BYTES }
  const largeMeasured = await runRounds(
    [
      ...lanesOf('one project', { reports }),
      // Bodies that name no project make the receiver try every pair, so none of them contains the first project's name.
      ...lanesOf('many projects', { start: { projects: PROJECTS }, reports: { ...reports, projects: 1 } }),
    ],
    large,
  )
  const of = (shares: string) => largeMeasured.filter(({ lane }) => lane.shares === shares)
  return {
    title: 'Forged requests beside good ones',
    notes: [
      describeRounds(small),
      'Target: what is refused at 0.9 of the rate of what is accepted, at least.',
      `The last two tables: bodies of ${LARGE_BYTES / 1_024} KiB, ${large.callbacks} a round and row. CPU cost: beside the first row.`,
      FIGURES_NOTE,
    ],
    tables: [
      besideFirst('about 300 bytes', measured),
      besideFirst(`${LARGE_BYTES / 1_024} KiB, one pair`, of('one project')),
      besideFirst(`${LARGE_BYTES / 1_024} KiB, ${PROJECTS} projects`, of('many projects')),
    ],
    data: { small: dataOf(measured), large: dataOf(largeMeasured) },
  }
}
