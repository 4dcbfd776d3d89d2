/** The authKey with another type, in another place, in another spelling. Numbers refer to the hazard list. */
import { expect } from 'vitest'
import { hazards, refused, accepted, type HazardCase, type Outcome } from '../support/hazard.ts'
import { AUTH_KEY, SIGNING_SECRET } from '../support/receiving.ts'
import { keyedText, postSigned, postUnsigned, reportText } from '../support/wire.ts'

const BY_KEY = accepted({ type: 'message.delivered', proof: 'authKey' })
const MALFORMED = refused(401, 'auth_key_malformed')
const MISMATCH = refused(401, 'auth_key_mismatch')
const MISSING = refused(401, 'signature_missing')

/** An unsigned report with these fields. */
function unsigned(name: string, fields: object, outcome: Outcome, more: Partial<HazardCase> = {}): HazardCase {
  return { name, send: ({ url }) => postUnsigned(url, reportText(fields)), outcome, ...more }
}

/** An unsigned report with this JSON text inserted after its opening brace. */
function inserted(name: string, text: string, outcome: Outcome, more: Partial<HazardCase> = {}): HazardCase {
  return { name, send: ({ url }) => postUnsigned(url, reportText().replace('{', `{${text},`)), outcome, ...more }
}

const key = JSON.stringify(AUTH_KEY)
const everyCharacterEscaped = AUTH_KEY.replace(/./g, (character) => `\\u00${character.charCodeAt(0).toString(16)}`)
const ACCENTED = 'cl\u00e9-secr\u00e8te'

function withKey(authKey: string): Pick<HazardCase, 'options'> {
  return { options: { credentials: [{ authKey }, { authKey: AUTH_KEY, signingSecret: SIGNING_SECRET }] } }
}

hazards([
  ...[[AUTH_KEY], [[AUTH_KEY]], { authKey: AUTH_KEY }, {}, [], 42, 0, true, false, null, ''].map((authKey) =>
    unsigned(`#78 authKey ${JSON.stringify(authKey)}`, { authKey }, MALFORMED),
  ),
  unsigned('#79 in statuses only', { statuses: { authKey: AUTH_KEY, message_id: 'm', status: 'sent' } }, MISSING),
  unsigned('#79 further in and at the top', { authKey: AUTH_KEY, data: { authKey: AUTH_KEY } }, BY_KEY, {
    also: ({ dispatched: [event] }) =>
      expect(event?.payload).toHaveProperty('data.authKey', '*'.repeat(AUTH_KEY.length)),
  }),
  ...['authkey', 'AUTHKEY', 'auth_key', 'authKey ', ' authKey', 'apiKey', 'authK\u0435y'].map((name) =>
    unsigned(`named ${JSON.stringify(name)}`, { [name]: AUTH_KEY }, MISSING),
  ),
  ...[
    ` ${AUTH_KEY}`,
    `${AUTH_KEY} `,
    `${AUTH_KEY}\n`,
    `${AUTH_KEY}\u0000`,
    AUTH_KEY.toUpperCase(),
    AUTH_KEY.slice(0, -1),
  ].map((authKey) => unsigned(`#80 authKey ${JSON.stringify(authKey)}`, { authKey }, MISMATCH)),
  unsigned('#80 authKey of 200 kB', { authKey: 'k'.repeat(200_000) }, MISMATCH),
  unsigned('#80 the right one 10,000 times', { authKey: AUTH_KEY.repeat(10_000) }, MISMATCH),
  unsigned('#80 its twin, decomposed', { authKey: ACCENTED.normalize('NFD') }, MISMATCH, withKey(ACCENTED)),
  inserted('#44 wrong, then right', `"authKey":"wrong-but-kept"`, MISMATCH, {
    send: ({ url }) => postUnsigned(url, keyedText().replace('{', '{"authKey":"wrong-but-kept",')),
    outcome: BY_KEY,
    also: ({ dispatched: [event] }) => expect(event?.raw.toString()).not.toContain('wrong-but-kept'),
  }),
  inserted('#45 every character of the value escaped', `"authKey":"${everyCharacterEscaped}"`, BY_KEY, {
    also: ({ dispatched: [event] }) => expect(event?.raw.toString()).not.toContain(everyCharacterEscaped),
  }),
  {
    name: 'a signed body shows no authKey, not even one that is no longer configured',
    send: ({ url }) =>
      postSigned(url, reportText({ authKey: 'an-older-key', more: { authKey: ['older', 1, 'still'] } })),
    outcome: accepted({ type: 'message.delivered', proof: 'signature' }),
    also({ dispatched: [event] }) {
      expect(event?.raw.toString()).not.toMatch(/older|still/)
      expect(event?.payload).not.toHaveProperty('authKey')
    },
  },
  {
    name: 'the key inside another field is masked too',
    send: ({ url }) => postUnsigned(url, keyedText({ note: `our key is ${AUTH_KEY}!` })),
    outcome: accepted({ payload: { note: `our key is ${'*'.repeat(AUTH_KEY.length)}!` } }),
  },
  {
    name: 'masking keeps the length of the body',
    send: ({ url }) => postUnsigned(url, keyedText()),
    outcome: BY_KEY,
    also: ({ dispatched: [event] }) => expect(event?.raw).toHaveLength(keyedText().length),
  },
  {
    name: 'the same callback before and after a rotation of the key is one event',
    options: { credentials: [{ authKey: 'the-key-before' }, { authKey: AUTH_KEY, signingSecret: SIGNING_SECRET }] },
    mount: { kind: 'payment' },
    async send({ url }) {
      await postUnsigned(url, '{"id":1,"authKey":"the-key-before"}')
      return postUnsigned(url, `{"id":1,"authKey":${key}}`)
    },
    outcome: accepted({ type: 'payment', data: { id: 1 } }),
  },
  {
    name: 'a project that is the authKey itself is masked in the event and in the store, and a repetition is a duplicate',
    async send({ url }) {
      await postUnsigned(url, keyedText({ project: AUTH_KEY }))
      return postUnsigned(url, keyedText({ project: AUTH_KEY }))
    },
    outcome: accepted({ project: '*'.repeat(AUTH_KEY.length) }),
    async also({ receiver }) {
      const stored = [await receiver.events.list(), await receiver.messageState('m-1')]
      expect(JSON.stringify(stored)).not.toContain(AUTH_KEY)
    },
  },
])
