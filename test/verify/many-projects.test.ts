/** A body without a project may belong to any project. */
import { signCallback } from 'messaging-webhooks/testing'
import { expect, test } from 'vitest'
import { receiving } from '../support/receiving.ts'

const PROJECTS = Object.fromEntries(
  Array.from({ length: 50 }, (_, index) => [
    `Shop ${index}`,
    { authKey: `auth-key-of-shop-${index}`, signingSecret: `signing-secret-of-shop-${index}` },
  ]),
)

async function postUnnamed(url: string, body: string, secret: string): Promise<number> {
  const headers = { 'x-service-signature': signCallback(body, secret) }
  return (await fetch(url, { method: 'POST', body, headers })).status
}

test('a payment without a project belongs to the one whose pair proves it, including the fiftieth', async () => {
  const { receiver, url } = await receiving({ projects: PROJECTS }, { kind: 'payment' })
  const seen: (string | undefined)[] = []
  receiver.on('payment', ({ project }) => void seen.push(project))
  for (const index of [0, 17, 49])
    expect(await postUnnamed(url, `{"amount":${index}}`, `signing-secret-of-shop-${index}`)).toBe(204)
  await receiver.drain()
  expect(seen.toSorted()).toEqual(['Shop 0', 'Shop 17', 'Shop 49'])
})

test('tries a large body without a project with sixteen pairs, so that a forged one stays cheap', async () => {
  const { url, errors } = await receiving({ projects: PROJECTS }, { kind: 'payment' })
  const body = `{"note":"${'x'.repeat(250 * 1024)}"}`
  expect(await postUnnamed(url, body, 'signing-secret-of-shop-15')).toBe(204)
  expect(await postUnnamed(url, body, 'signing-secret-of-shop-17')).toBe(401)
  expect(errors.map(({ code }) => code)).toEqual(['signature_mismatch'])
})
