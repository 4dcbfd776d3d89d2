/** What does accepting a callback cost, compared with libraries that do less work and with the minimum possible? */
import type { Contender } from '../contenders/contender.ts'
import { CONTENDERS, contenderNames, contendersHere, type ContenderName } from '../contenders/table.ts'
import { ratioOf, type Spread } from '../measure/ratios.ts'
import { runRounds, type Measured } from '../measure/rounds.ts'
import { DATABASE_NOTE, FIGURES_NOTE, figuresFor, ratio } from '../report/format.ts'
import type { Report, Table } from '../report/report.ts'
import type { Settings } from '../settings.ts'
import { doesTable } from './does.ts'
import { describeRounds, roundsOf } from './program.ts'

const LIMIT: ContenderName = 'node-http-verified'

export async function runPeers(settings: Settings): Promise<Report> {
  const names = settings.only === undefined ? await contendersHere() : contenderNames(settings.only)
  const options = roundsOf(settings)
  const base = names.includes(LIMIT) ? LIMIT : names[0]
  const measured = await runRounds(
    names.map((contender) => ({ label: CONTENDERS[contender].label, contender })),
    options,
  )
  const baseSamples = measured.find(({ lane }) => lane.contender === base)?.samples ?? []
  const rows = measured.map((row) => ({
    ...row,
    rate: ratioOf(
      baseSamples.map((sample) => sample.microseconds),
      row.samples.map((sample) => sample.microseconds),
    ),
    cpu: ratioOf(
      baseSamples.map((sample) => sample.cpuMicroseconds),
      row.samples.map((sample) => sample.cpuMicroseconds),
    ),
  }))
  const baseLabel = base === undefined ? '' : CONTENDERS[base].label
  return {
    title: `Callbacks a second, beside “${baseLabel}”`,
    notes: [
      describeRounds(options),
      `Targets, by rate: in node:http with the memory store 0.90 of “${CONTENDERS[LIMIT].label}” and 1.25 of octokit; in Express 0.75 of the former; beside the memory store SQLite 0.60, Redis 0.50, Postgres 0.40.`,
      'rate: callbacks a second until the last handler ran; by CPU: the same for the server’s CPU time alone.',
      FIGURES_NOTE,
      DATABASE_NOTE,
    ],
    tables: [ratesTable(rows), doesTable(measured), pairsTable(measured)],
    data: rows.map(({ lane, samples, rate, cpu }) => ({ contender: lane.contender, rate, cpu, samples })),
    chart: {
      title: `Callbacks a second; 1 is ${baseLabel}`,
      bars: rows.map(({ lane, rate }) => ({ label: lane.label, value: rate.median, ours: isOurs(lane.contender) })),
    },
  }
}

function ratesTable(rows: readonly (Measured & { readonly rate: Spread; readonly cpu: Spread })[]): Table {
  const figures = figuresFor(rows)
  return {
    head: ['contender', 'rate', 'by CPU', ...figures.head],
    rows: rows.map(({ lane, samples, rate, cpu }) => [lane.label, ratio(rate), ratio(cpu), ...figures.of(samples)]),
  }
}

/** Each of our rows against each other row. Dividing two medians would not give a paired ratio. */
function pairsTable(measured: readonly Measured[]): Table {
  const ours = measured.filter(({ lane }) => isOurs(lane.contender))
  const times = ({ samples }: Measured): readonly number[] => samples.map((sample) => sample.microseconds)
  return {
    head: ['as fast as the one to the left', ...ours.map(({ lane }) => lane.contender)],
    rows: measured.map((other) => [
      other.lane.label,
      ...ours.map((own) => (own === other ? '' : ratio(ratioOf(times(other), times(own))))),
    ]),
  }
}

function isOurs(contender: ContenderName): boolean {
  const { ours }: Contender = CONTENDERS[contender]
  return ours === true
}
