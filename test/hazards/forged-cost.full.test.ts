/** Requests that anyone can forge, made as expensive as possible. Numbers refer to the hazard list. */
import { expect, test } from 'vitest'
import { hazards, refused, serve, unreadable, type HazardCase } from '../support/hazard.ts'
import { AUTH_KEY } from '../support/receiving.ts'
import { postSigned, postUnsigned, reportText } from '../support/wire.ts'

const MAX_BYTES = 256 * 1024
const NO_PROOF = refused(401, 'signature_missing')

function nested(depth: number, open = '[', close = ']'): string {
  return `{"messageId":"m-1","status":"success","deep":${open.repeat(depth)}${close.repeat(depth)}}`
}

/** Both cases: signed, it is authentic and kept; unsigned, it is not authentic. */
function both(name: string, body: string, problem: Parameters<typeof unreadable>[0]): readonly HazardCase[] {
  return [
    { name: `${name}, signed`, send: ({ url }) => postSigned(url, body), outcome: unreadable(problem) },
    { name: `${name}, without a proof`, send: ({ url }) => postUnsigned(url, body), outcome: NO_PROOF },
  ]
}

hazards([
  ...[65, 1_000, 10_000, 130_000].flatMap((depth) => both(`#47 ${depth} lists deep`, nested(depth), 'too_deep')),
  ...both('#47 20,000 objects deep', nested(20_000, '{"a":', '}').replace(':}', ':1}'), 'too_deep'),
  ...both('#47 130,000 lists deep and never closed', '['.repeat(130_000), 'too_deep'),
  {
    name: '#47 63 lists deep inside the object',
    send: ({ url }) => postSigned(url, nested(63)),
    outcome: { status: 204, events: [{ type: 'message.delivered' }], codes: [] },
  },
  {
    name: '#47 130,000 lists deep, with the right authKey before them',
    send: ({ url }) => postUnsigned(url, nested(130_000).replace('{', `{"authKey":"${AUTH_KEY}",`)),
    outcome: NO_PROOF,
  },
  ...both(
    '#52 20,000 keys',
    `{${Array.from({ length: 20_000 }, (_, index) => `"k${index}":1`).join()}}`,
    'too_many_values',
  ),
  ...both('#52 87,000 empty lists', `{"a":[${'[],'.repeat(87_000)}[]]}`, 'too_many_values'),
])

/** Bodies of the largest accepted size, without any proof. */
const COSTLY: readonly (readonly [what: string, body: string])[] = [
  ['authKey inside authKey, many times', filled('{"authKey":')],
  ['authKey inside lists, many times', filled('{"authKey":[')],
  ['authKey many times in one object', `{${filled('"authKey":"x",')}`],
  ['a string that does not end, many times', filled('"authKey":"')],
  ['names with escapes', `{${filled('"\\u0061uthKe":1,')}`],
  ['names with every character escaped', `{${filled('"\\u0061\\u0075\\u0074\\u0068\\u004b\\u0065\\u0079":1,')}`],
  ['quotes', filled('"')],
  ['blanks behind a name', `{"authKey"${filled(' ').slice(64)}`],
  ['strings before blanks', filled(`""${' '.repeat(1_000)}`)],
  ['colons', filled('"a":')],
]

function filled(part: string): string {
  return part.repeat(Math.floor((MAX_BYTES - 64) / part.length))
}

test.each(COSTLY)('%s costs no more than reading it', async (_, body) => {
  const { url, dispatched } = await serve()
  // Warms up first, to measure the body alone.
  await postUnsigned(url, reportText())
  const before = process.cpuUsage()
  expect(await postUnsigned(url, body)).toBe(401)
  // Reading takes some milliseconds; a cost that grows with the square of the size takes seconds.
  expect(process.cpuUsage(before).user / 1_000).toBeLessThan(1_000)
  expect(dispatched).toEqual([])
})
