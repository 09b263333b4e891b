// Compiled, not run: what the types that openapi-typescript makes of the document must allow, and what they must not.

import createClient from "openapi-fetch";
import type { components, paths } from "./schema";

const client = createClient<paths>({ baseUrl: "http://127.0.0.1:8080", headers: { authorization: "Bearer key" } });

export async function call(assistant_id: number): Promise<components["schemas"]["Call"]> {
  const placed = await client.POST("/user/make_call", { body: { phone_number: "+12125550101", assistant_id } });
  if (!placed.data) throw new Error(JSON.stringify(placed.error));
  const id: number = placed.data.call_id;
  const { data, error } = await client.GET("/user/calls/{id}", { params: { path: { id: String(id) } } });
  if (!data) throw new Error(JSON.stringify(error));
  const reason: string | null = data.ended_reason;
  console.log(data.status, reason, data.transcript);
  return data;
}

export async function firstAssistant(): Promise<components["schemas"]["Assistant"] | undefined> {
  const { data } = await client.GET("/user/assistants/get", { params: { query: { per_page: 1 } } });
  return data?.data[0];
}

export async function refused(): Promise<void> {
  // @ts-expect-error a number is required
  await client.POST("/user/make_call", { body: { assistant_id: 1 } });
  // @ts-expect-error there is no such path
  await client.GET("/user/nothing");
  const { data } = await client.GET("/user/me");
  // @ts-expect-error an account has no such member
  console.log(data?.nothing);
}
