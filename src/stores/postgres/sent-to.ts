/**
 * What was sent to somebody: a look back through a bounded number of what was sent, of which the server sends those whose bytes have
 * in them what is looked for.
 */
import type { SentToAnswer, SentToPage } from '../../inbox/store.ts'
import { isSentTo, MOST_SENT_LOOKED_AT, needlesOfSent } from '../../inbox/filters.ts'
import { pageOf } from '../pages.ts'
import { hexOf, placeBy, text } from './encoding.ts'
import type { Engine } from './engine.ts'
import { OF_PAGE, readExpected } from './expecting.ts'

/** Those that are looked at. $1 and $2: sent from when and before when; $3 and $4: the place (time, message) that they come after. */
const LOOKED = /* sql */ `
FROM {schema}.messages m
WHERE m.sent_at >= $1::bigint AND m.sent_at < $2::bigint AND (m.sent_at, m.id) < ($3::bigint, $4::bigint)
ORDER BY m.sent_at DESC, m.id DESC`

/** Where a look ends. */
const END = /* sql */ `SELECT m.sent_at, m.id ${LOOKED} LIMIT 1 OFFSET ${MOST_SENT_LOOKED_AT - 1}`

/** Those of them that may be meant: at most $5, with one of the texts $6 (hex). */
const FOUND = /* sql */ `
WITH looked AS MATERIALIZED (SELECT m.* ${LOOKED} LIMIT ${MOST_SENT_LOOKED_AT}),
page AS MATERIALIZED (
  SELECT * FROM looked
  WHERE EXISTS (SELECT 1 FROM unnest($6::text[]) AS needle WHERE position(decode(needle, 'hex') IN expected) > 0)
  ORDER BY sent_at DESC, id DESC LIMIT $5::integer
) ${OF_PAGE}`

const AFTER_ALL = '9223372036854775807'
const CURSOR = /^(-?\d{1,19})\.(-?\d{1,19})$/

export function createSentTo({ connections, sql }: Engine): (page: SentToPage) => Promise<SentToAnswer> {
  const end = sql(END)
  const found = sql(FOUND)
  const placeOf = placeBy('sent_at', 'id')

  return async (page) => {
    const { after, limit, fromMs, toMs } = page
    const [, sentAt = AFTER_ALL, id = AFTER_ALL] = CURSOR.exec(after ?? '') ?? []
    const looked = [wholeMs(fromMs, -Number.MAX_SAFE_INTEGER), wholeMs(toMs, Number.MAX_SAFE_INTEGER), sentAt, id]
    const needles = needlesOfSent(page).map(hexOf)
    const [[last], rows] = await Promise.all([
      connections.query(end, looked),
      connections.query(found, [...looked, limit + 1, needles]),
    ])
    // A page of what was sent comes as it was sent.
    const { items, ...rest } = pageOf(rows.toReversed(), limit, readExpected, placeOf)
    const meant = items.flat().filter(({ expectation }) => isSentTo(page, expectation))
    if (rest.next !== undefined || last === undefined) return { items: meant, ...rest }
    return { items: meant, next: placeOf(last), lookedBackToMs: Number(text(last, 'sent_at')) }
  }
}

/** As a statement takes it. */
function wholeMs(ms: number | undefined, otherwise: number): number {
  return ms === undefined || !Number.isSafeInteger(Math.floor(ms)) ? otherwise : Math.floor(ms)
}
