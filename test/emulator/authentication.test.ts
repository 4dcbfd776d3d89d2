/** Contract, service.md#authentication, #send-failures: send forms × places of the key × cases × channels, on both paths. */
import { expect, test } from 'vitest'
import { API_KEY, call, emulating, SHOP, type Answered } from './emulating.ts'

type Strings = Readonly<Record<string, string>>

const json = { 'content-type': 'application/json' }
const FORMS: Readonly<Record<string, (url: string, fields: Strings, headers: Strings) => Promise<Answered>>> = {
  'POST JSON': (url, fields, headers) =>
    call(url, { method: 'POST', headers: { ...json, ...headers }, body: JSON.stringify(fields) }),
  'POST form': (url, fields, headers) =>
    call(url, { method: 'POST', headers, body: new URLSearchParams({ ...fields }) }),
  GET: (url, fields, headers) => call(`${url}?${new URLSearchParams({ ...fields }).toString()}`, { headers }),
}
const PLACES = ['a field', 'a Bearer header'] as const
const CHANNELS = { sms: 'messageData', 'chat-app': 'messageData', premium: 'messageData', airtime: 'data' } as const
const ALL_CHANNELS = [...Object.entries(CHANNELS), ['premium-subscription', 'messageData'] as const]

interface AuthCase {
  readonly name: string
  readonly project?: string
  readonly key?: string
  /** By hand from the contract: HTTP status and string. */
  readonly status: number
  readonly message?: string
}

const CASES: readonly AuthCase[] = [
  { name: 'right project and key', project: SHOP, key: API_KEY, status: 200 },
  { name: 'no such project', project: 'No Shop', key: API_KEY, status: 404, message: 'Error. Project not found.' },
  { name: 'other case', project: 'my shop', key: API_KEY, status: 404, message: 'Error. Project not found.' },
  { name: 'name of a method', project: 'constructor', key: API_KEY, status: 404, message: 'Error. Project not found.' },
  { name: 'wrong key', project: SHOP, key: 'wrong', status: 400, message: 'Error. Unknown project.' },
  { name: 'no project named', key: API_KEY, status: 400, message: 'Error. Unknown project.' },
  { name: 'no key at all', project: SHOP, status: 401, message: 'Unauthenticated.' },
  { name: 'no key and no such project', project: 'No Shop', status: 401, message: 'Unauthenticated.' },
]

const ROWS = ['/api/v1/messaging', '/v1/messaging'].flatMap((path) =>
  Object.keys(FORMS).flatMap((form) =>
    PLACES.flatMap((place) =>
      ALL_CHANNELS.flatMap(([channel, wrapper]) =>
        CASES.map((row) => ({ path, form, place, channel, wrapper, ...row })),
      ),
    ),
  ),
)

// One emulator for all, or the machine would open 480 ports.
test('every form, place, channel and case gets the answer of the contract', { timeout: 120_000 }, async () => {
  const { url, emulator } = await emulating()
  for (const row of ROWS) {
    const { path, form, place, channel, wrapper, project, key, status, message } = row
    const send = FORMS[form]
    if (send === undefined) throw new Error(`There is no form ${form}.`)
    const fields: Record<string, string> = { to: '999100000000', message: 'Hi', amount: '1', channel }
    const headers: Record<string, string> = {}
    if (project !== undefined) fields['project'] = project
    if (key !== undefined && place === 'a field') fields['apiKey'] = key
    if (key !== undefined && place === 'a Bearer header') headers['authorization'] = `Bearer ${key}`
    const answer = await send(url + path, fields, headers)
    const label = `${form} ${path}, key in ${place}, ${channel}: ${row.name}`
    expect(answer.status, label).toBe(status)
    // The contract: 401 has no wrapper, the others one that depends on the channel.
    if (status === 401) expect(answer.body, label).toEqual({ message })
    else if (message !== undefined) expect(answer.body, label).toEqual({ [wrapper]: { message } })
    else expect(answer.body, label).toMatchObject({ [wrapper]: { messages: 1 }, recipients: [{ statusCode: '11' }] })
  }
  const { sends } = emulator.report()
  const of = (status: number): number => ROWS.filter((row) => row.status === status).length
  expect(sends.requests).toBe(ROWS.length)
  expect(sends.answers).toEqual({ 200: of(200), 400: of(400), 401: of(401), 404: of(404) })
  expect(sends.recipients).toEqual({ accepted: of(200) })
})

interface Misplaced {
  readonly query?: Record<string, string>
  readonly authorization?: string
  readonly fields?: object
}

const UNKNOWN = { messageData: { message: 'Error. Unknown project.' } }
const UNAUTHENTICATED = { message: 'Unauthenticated.' }

test.each<readonly [what: string, given: Misplaced, status: number, answer: object]>([
  ['in the query of a POST are ignored', { query: { project: SHOP, apiKey: API_KEY } }, 401, UNAUTHENTICATED],
  ['in an empty header', { authorization: '', fields: { project: SHOP } }, 401, UNAUTHENTICATED],
  ['in a Bearer header without a key', { authorization: 'Bearer ', fields: { project: SHOP } }, 401, UNAUTHENTICATED],
  ['in a Basic header', { authorization: `Basic ${API_KEY}`, fields: { project: SHOP } }, 401, UNAUTHENTICATED],
  ['in a header without a scheme', { authorization: API_KEY, fields: { project: SHOP } }, 401, UNAUTHENTICATED],
  [
    'wrong in a header, right in a field',
    { authorization: 'Bearer wrong', fields: { project: SHOP, apiKey: API_KEY } },
    400,
    UNKNOWN,
  ],
  ['with an empty key', { fields: { project: SHOP, apiKey: '' } }, 401, UNAUTHENTICATED],
  ['with a list as the key', { fields: { project: SHOP, apiKey: [API_KEY] } }, 401, UNAUTHENTICATED],
  ['with an empty project', { fields: { project: '', apiKey: API_KEY } }, 400, UNKNOWN],
  ['with a list as the project', { fields: { project: [SHOP], apiKey: API_KEY } }, 400, UNKNOWN],
])('credentials %s', async (_, { query = {}, authorization, fields }, status, answer) => {
  const { endpoint } = await emulating()
  const headers = { ...json, ...(authorization !== undefined && { authorization }) }
  const body = JSON.stringify({ to: '999100000000', message: 'Hi', ...fields })
  const url = `${endpoint}?${new URLSearchParams(query).toString()}`
  expect(await call(url, { method: 'POST', headers, body })).toEqual({ status, body: answer })
})
