/** What was sent to somebody: a walk back through what was sent, a bounded piece at a time, for its thread takes callbacks, too. */
import type { SentToAnswer, SentToPage } from '../../inbox/store.ts'
import { isSentTo, MOST_SENT_LOOKED_AT, needlesOfSent } from '../../inbox/filters.ts'
import { pageOf } from '../pages.ts'
import type { Database } from './database.ts'
import { FOUND, readExpected } from './expecting.ts'
import { prepare, text, type Row } from './statements.ts'

const IN_RANGE = 'sent_at >= :from AND sent_at < :to AND (sent_at, rowid) < (:sentAt, :before)'

/** Where a look ends: the index alone tells. */
const END = /* sql */ `
SELECT sent_at || '.' || rowid AS place FROM messages INDEXED BY messages_sent
WHERE ${IN_RANGE} ORDER BY sent_at DESC, rowid DESC LIMIT 1 OFFSET ${MOST_SENT_LOOKED_AT - 1}
`

/** Those in the piece that may be meant. */
function sentTo(needles: readonly string[]): string {
  const any = ['false', ...needles.map((_, index) => `instr(expected, :needle${index}) > 0`)].join(' OR ')
  return /* sql */ `
${FOUND} INDEXED BY messages_sent
WHERE ${IN_RANGE} AND (sent_at, rowid) >= (:endAt, :end) AND (${any}) ORDER BY sent_at DESC, rowid DESC LIMIT :limit
`
}

const FIRST = -(2n ** 63n)
const LAST = 2n ** 63n - 1n

export function createSentTo({ db }: Database): (page: SentToPage) => SentToAnswer {
  const end = prepare(db, END)

  return (page) => {
    const { after, limit, fromMs = -Infinity, toMs = Infinity } = page
    const [sentAt, before] = readPlace(after) ?? [LAST, LAST]
    const range = { from: wholeMs(fromMs), to: wholeMs(toMs), sentAt, before }
    const endPlace = placeIn(end.get(range))
    const [endAt, endRow] = readPlace(endPlace) ?? [FIRST, FIRST]
    const needles = needlesOfSent(page)
    const values = Object.fromEntries(needles.map((needle, index) => [`needle${index}`, Buffer.from(needle)]))
    const found = prepare(db, sentTo(needles)).all({ ...values, ...range, endAt, end: endRow, limit: limit + 1 })
    const { items, ...rest } = pageOf(found, limit, readExpected, (last) => text(last, 'place'))
    const meant = items.flat().filter(({ expectation }) => isSentTo(page, expectation))
    if (rest.next !== undefined || endPlace === undefined) return { items: meant, ...rest }
    return { items: meant, next: endPlace, lookedBackToMs: Number(endAt) }
  }
}

function placeIn(row: Row | undefined): string | undefined {
  return row && text(row, 'place')
}

function readPlace(place: string | undefined): readonly [sentAt: bigint, rowid: bigint] | undefined {
  const [, sentAt, rowid] = /^(-?\d{1,19})\.(-?\d{1,19})$/.exec(place ?? '') ?? []
  return sentAt === undefined || rowid === undefined ? undefined : [BigInt(sentAt), BigInt(rowid)]
}

/** As a statement takes it. */
function wholeMs(ms: number): number {
  return Math.floor(Math.min(Math.max(ms, -Number.MAX_SAFE_INTEGER), Number.MAX_SAFE_INTEGER))
}
