/** The project that a body names. Numbers refer to the hazard list. */
import { expect } from 'vitest'
import { hazards, refused, accepted, type HazardCase, type Outcome } from '../support/hazard.ts'
import { AUTH_KEY, SIGNING_SECRET } from '../support/receiving.ts'
import { postSigned, postUnsigned, reportText } from '../support/wire.ts'

const MINE = { authKey: AUTH_KEY, signingSecret: SIGNING_SECRET }
const OTHER = { authKey: 'the-key-of-the-other', signingSecret: 'the-secret-of-the-other' }
const TWO = { projects: { 'My Shop': MINE, Other: OTHER } }
const UNKNOWN = refused(401, 'project_unknown')
const MISMATCH = refused(401, 'signature_mismatch')

/** A callback signed with the secret of My Shop. */
function signed(name: string, fields: object, outcome: Outcome, options: HazardCase['options'] = TWO): HazardCase {
  return { name, options, send: ({ url }) => postSigned(url, reportText(fields)), outcome }
}

/** A callback with the authKey of My Shop. */
function keyed(name: string, fields: object, outcome: Outcome, options: HazardCase['options'] = TWO): HazardCase {
  const body = reportText({ ...fields, authKey: AUTH_KEY })
  return { name, options, send: ({ url }) => postUnsigned(url, body), outcome }
}

const asked: (string | undefined)[] = []
const lookup = {
  credentials(project: string | undefined) {
    asked.push(project)
    return project === 'My Shop' ? MINE : undefined
  },
}

hazards([
  signed('#81 signed by My Shop, names the other', { project: 'Other' }, MISMATCH),
  keyed('a stranger', { project: 'Unknown' }, UNKNOWN),
  ...['constructor', '__proto__', 'toString', 'hasOwnProperty', 'prototype', 'valueOf'].flatMap((project) => [
    signed(`#82 ${project}, signed`, { project }, UNKNOWN),
    keyed(`#82 ${project}, by a key`, { project }, UNKNOWN),
    {
      name: `#82 __proto__ as a name as it stands in JSON, beside ${project}`,
      options: TWO,
      send: ({ url }: { url: string }) =>
        postUnsigned(url, `{"__proto__":{"project":"My Shop"},"project":"${project}","authKey":"${AUTH_KEY}"}`),
      outcome: UNKNOWN,
    },
  ]),
  ...[undefined, null, 42, '', [], ['Other'], { name: 'Other' }, true].flatMap((project) => [
    signed(`#83 project ${JSON.stringify(project)}, signed`, { project }, accepted({ project: 'My Shop' })),
    keyed(`#83 project ${JSON.stringify(project)}, by its key`, { project }, accepted({ project: 'My Shop' })),
  ]),
  {
    name: '#83 no project, and two have the same key',
    options: { projects: { 'My Shop': MINE, Twin: { authKey: AUTH_KEY } } },
    send: ({ url }) => postUnsigned(url, reportText({ project: undefined, authKey: AUTH_KEY })),
    outcome: refused(401, 'project_ambiguous'),
  },
  ...['my shop', 'MY SHOP', 'My Shop ', ' My Shop', 'My  Shop', 'My\u00a0Shop', 'My Shop\u0000', 'My\u200bShop'].map(
    (project) => signed(`#84 ${JSON.stringify(project)}`, { project }, UNKNOWN),
  ),
  {
    ...keyed('#85 257 characters, with a function', { project: 'x'.repeat(257) }, UNKNOWN, lookup),
    outcome: refused(401, 'project_name_too_long'),
    also: () => expect(asked).not.toContain('x'.repeat(257)),
  },
  {
    ...keyed('#85 200 kB, with a function', { project: 'x'.repeat(200_000) }, UNKNOWN, lookup),
    outcome: refused(401, 'project_name_too_long'),
    also: () => expect(asked).not.toContain('x'.repeat(200_000)),
  },
  {
    ...keyed('#85 256 characters are looked up, with a function', { project: 'y'.repeat(256) }, UNKNOWN, lookup),
    also: () => expect(asked).toContain('y'.repeat(256)),
  },
  signed(
    'a long name under one pair does not lose the callback',
    { project: 'x'.repeat(300) },
    accepted({ project: 'x'.repeat(300) }),
    {},
  ),
])
