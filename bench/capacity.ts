/**
 * What 10^6, 10^8 and 10^9 callbacks a day need, computed from measured costs: cores, network, log and storage, and what an hour
 * without the store at the peak leaves behind. It starts no servers; `bench:server` and `bench:storage` measured the costs.
 *
 *     npm run bench:capacity                                # with the options below
 *     PER_DAY=50000000 CAPACITY=2 npm run bench:capacity    # one load, twice the capacity that the peak needs
 *
 * | option            | what                                                                                     | default       |
 * | ----------------- | ---------------------------------------------------------------------------------------- | ------------- |
 * | COSTS             | the file of the costs                                                                    | bench/capacity/costs.json |
 * | PER_DAY           | callbacks a day, with commas between                                                     | 1e6,1e8,1e9   |
 * | PEAK              | the peak rate relative to the mean: most of a day's messages within ten hours            | 2.5           |
 * | BURST             | a campaign from noon on: share of the day and minutes, as in 0.05/10                     | none          |
 * | OUTAGE_S          | length of the outage, half of it before the peak                                         | 3600          |
 * | CAPACITY          | capacities relative to the peak rate; 1.43 is what runs at 70 % at the peak              | 1.43,2,3      |
 * | SPOOLS            | processes with a spool; by default enough of them                                         | enough        |
 * | PROCESSES         | costs with so many processes, or the most below; several give a range                    | 1,16          |
 * | REPORTS           | reports a message, as `bench:storage` measured them                                      | 1             |
 * | RETENTION_DAYS    | how long payloads are kept                                                               | each store's  |
 * | DEDUPE_DAYS       | how long records are kept                                                                | 30            |
 *
 * Costs depend on the rate of a process more than on anything else: `bench:server` shares 1,000 events a second among its
 * processes, so with 1 each process is as busy as at 10^9 a day, and with 16 its batches are small.
 */
import { readCosts, type Costs, type EventCost } from './capacity/costs.ts'
import {
  arrivalsOf,
  coresFor,
  DAY_SECONDS,
  outageAtPeak,
  PEAK_SECOND,
  simulate,
  type Curve,
  type Result,
} from './capacity/model.ts'
import { chosenStores, type SharedStore } from './contenders/shared.ts'

const COSTS = process.env['COSTS'] ?? 'bench/capacity/costs.json'
const PER_DAY = numbers('PER_DAY', '1e6,1e8,1e9')
const PEAK = Number(process.env['PEAK'] ?? 2.5)
const OUTAGE = outageAtPeak(Number(process.env['OUTAGE_S'] ?? 3_600))
const CAPACITY = numbers('CAPACITY', '1.43,2,3')
const PROCESSES = numbers('PROCESSES', '1,16')
const SPOOLS = Number(process.env['SPOOLS'] ?? Infinity)
const REPORTS = process.env['REPORTS'] ?? '1'
const DEDUPE_DAYS = Number(process.env['DEDUPE_DAYS'] ?? 30)
const BUSY = 0.7
const GIB = 2 ** 30
/** The limit of a process's spool. */
const SPOOL_BYTES = GIB
const MAX_DAYS = 10

function numbers(name: string, otherwise: string): readonly number[] {
  return (process.env[name] ?? otherwise).split(',').map(Number)
}

function burst(): Curve['burst'] {
  const [share, minutes] = (process.env['BURST'] ?? '').split('/').map(Number)
  return share === undefined || minutes === undefined ? undefined : { share, minutes }
}

const whole = (value: number): string => Math.round(value).toLocaleString('en')
const short = (value: number): string =>
  value >= 10 ? whole(value) : value.toLocaleString('en', { maximumSignificantDigits: 2 })

function duration(seconds: number | undefined): string {
  if (seconds === undefined) return `over ${MAX_DAYS} days`
  const minutes = Math.ceil(seconds / 60)
  return minutes < 60 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`
}

function retentionDaysOf(store: SharedStore): number {
  return Number(process.env['RETENTION_DAYS'] ?? (store === 'redis' ? 1 : 7))
}

/** The costs of so many processes, or of the most that were measured below that. */
function costsOf(costs: Costs, store: SharedStore): readonly EventCost[] {
  const measured = Object.entries(costs.events[store] ?? {}).toSorted(([a], [b]) => Number(a) - Number(b))
  return PROCESSES.flatMap((most) => measured.findLast(([processes]) => Number(processes) <= most)?.[1] ?? [])
}

/** The least and the most; empty if unknown. */
function range(values: readonly (number | undefined)[]): string {
  const known = values.filter((value) => value !== undefined)
  if (known.length === 0) return ''
  const [least, most] = [short(Math.min(...known)), short(Math.max(...known))]
  return least === most ? least : `${least}–${most}`
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  return [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n')
}

function outageRow(perDay: number, costs: Costs): readonly string[] {
  const arrivals = arrivalsOf({ perDay, peakToMean: PEAK, burst: burst() })
  const peak = arrivals(PEAK_SECOND)
  const spoolLimit = (SPOOLS * SPOOL_BYTES) / costs.spoolBytes
  const results = CAPACITY.map((times) =>
    simulate({ arrivals, capacity: times * peak, outage: OUTAGE, spoolLimit, days: MAX_DAYS }),
  )
  const of = (read: (result: Result) => number): number => Math.max(...results.map(read))
  const spooled = of(({ spooledAtEnd }) => spooledAtEnd)
  const bytes = spooled * costs.spoolBytes
  return [
    whole(perDay),
    short(perDay / DAY_SECONDS),
    short(peak),
    whole(spooled),
    short(bytes / GIB),
    whole(Math.ceil(bytes / SPOOL_BYTES)),
    whole(of(({ mostBacklog }) => mostBacklog)),
    whole(of(({ end }) => end.refused)),
    ...results.map(({ drainSeconds }) => duration(drainSeconds)),
  ]
}

function needsRow(perDay: number, store: SharedStore, costs: Costs): readonly (readonly string[])[] {
  const events = costsOf(costs, store)
  const bytes = costs.messages[store]?.[REPORTS]
  if (events.length === 0 || bytes === undefined) return []
  const peak = arrivalsOf({ perDay, peakToMean: PEAK, burst: burst() })(PEAK_SECOND)
  const messages = perDay / Number(REPORTS)
  const kept = messages * (bytes.payloads * retentionDaysOf(store) + bytes.records * DEDUPE_DAYS)
  const ranged = (read: (cost: EventCost) => number | undefined, times: number): string =>
    range(events.map(read).map((value) => value && value * times))
  return [
    [
      whole(perDay),
      store,
      ranged(({ storeUs }) => storeUs, coresFor(peak, 1, BUSY)),
      ranged(({ receiversUs }) => receiversUs + costs.httpUs, coresFor(peak, 1, BUSY)),
      ranged(({ networkBytes }) => networkBytes, (8 * peak) / 1e6),
      ranged(({ logBytes }) => logBytes, perDay / 1e9),
      short((messages * (bytes.payloads + bytes.records)) / 1e9),
      short(kept / 1e9),
    ],
  ]
}

const costs = readCosts(COSTS)
const minutes = Math.round(OUTAGE.seconds / 60)
console.log(`Computed from ${COSTS}. An outage of the store of ${minutes} minutes at the peak:\n`)
console.log(
  table(
    [
      ...[
        'callbacks a day',
        'mean/s',
        'peak/s',
        'spooled at the end',
        'GiB',
        'spools of 1 GiB',
        'most backlog',
        'refused',
      ],
      ...CAPACITY.map((times) => `drained at ${times} × peak`),
    ],
    PER_DAY.map((perDay) => outageRow(perDay, costs)),
  ),
)
console.log(
  `\nCores at ${BUSY * 100} % at the peak; ${REPORTS} of a message; payloads and records kept for their days:\n`,
)
console.log(
  table(
    [
      ...['callbacks a day', 'store', 'cores of the server', 'cores of the receivers', 'network at the peak, Mbit/s'],
      ...['log a day, GB', 'storage a day, GB', 'storage kept, GB'],
    ],
    PER_DAY.flatMap((perDay) => chosenStores().flatMap((store) => needsRow(perDay, store, costs))),
  ),
)
