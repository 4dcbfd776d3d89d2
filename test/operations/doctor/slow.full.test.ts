/** An answer that takes longer than a second; the test takes a few seconds. */
import express from 'express'
import { expect, test } from 'vitest'
import { receiving } from '../../support/receiving.ts'
import { askDoctor, faultsOf, serving } from './asking.ts'

test('middleware that delays each request for longer than a second', async () => {
  const { receiver } = await receiving()
  receiver.onAny(() => {})
  const url = await serving(
    express().use((_request, _response, next) => void setTimeout(next, 1_100), receiver.middleware('status')),
  )
  expect(faultsOf(await askDoctor(url))).toEqual(['slow'])
})
