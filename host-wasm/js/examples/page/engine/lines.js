/** Spoken lines, general enough to fit any business; those of the binary's simulated engine. `{customer}` is the name. */

export const NOTICE = "This is the simulated engine: it plays a script. It reads no prompt and asks no model.";

export const EXCHANGES = [
  {
    topic: "opening hours",
    human: "When could I come by in person?",
    bot: "The door is open on weekdays from nine to six, and on Saturdays until noon.",
  },
  {
    topic: "delivery times",
    human: "How long would I have to wait until it arrives?",
    bot: "Three working days is usual, and you get a message in the morning of the day it comes.",
  },
  {
    topic: "prices",
    human: "What would that come to in the end?",
    bot: "The price on the offer is the whole price; nothing is added afterwards.",
  },
  {
    topic: "the contract",
    human: "Would I be bound to anything for years?",
    bot: "No, a month's notice is enough, and a short message from you will do.",
  },
  {
    topic: "payment",
    human: "May I pay by card, or do you send a bill?",
    bot: "Both are fine. With a bill you have two weeks' time.",
  },
  {
    topic: "an appointment",
    human: "Is there still something free this week?",
    bot: "Yes, Thursday morning has two openings left. I can hold one of them for you.",
  },
  {
    topic: "a change of address",
    human: "We have moved since then. Do you need the new address?",
    bot: "That would help. I will put it down right after our call.",
  },
  {
    topic: "a repair",
    human: "The one I have makes a strange noise. Is that covered?",
    bot: "It is, within the first two years. Somebody would have a look at it at your place.",
  },
  {
    topic: "an earlier order",
    human: "What became of the order from last month?",
    bot: "It left the warehouse complete, and the receipt carries a signature of your household.",
  },
  {
    topic: "privacy",
    human: "Where did you get my number from?",
    bot: "You left it with a request of yours. I can have it removed whenever you say so.",
  },
  {
    topic: "guarantees",
    human: "And if I am not happy with it after all?",
    bot: "Then it goes back within thirty days, and the return costs you nothing.",
  },
  {
    topic: "the next steps",
    human: "What happens once I have said yes?",
    bot: "You get everything in writing today, and you have until Friday to think it over.",
  },
];

export const HELLOS = [
  "Hello, you are speaking with {customer}.",
  "Yes, {customer} here. What is it about?",
  "Good day, this is {customer}.",
  "{customer}, hello. I have a few minutes.",
];

export const OPENERS = [
  "Thank you for taking the call, {customer}. It will not take long.",
  "Good that I reach you, {customer}. I have a short question.",
  "Nice to hear you, {customer}. May I come straight to the point?",
  "Thanks, {customer}. I am calling about your request.",
];

export const AGREEMENTS = [
  "That sounds good. Let us do it that way.",
  "All right, you have convinced me.",
  "Fine by me. Please go ahead.",
  "Yes, I would like that.",
];

export const REFUSALS = [
  "No, thank you. I am not interested.",
  "I have to say no; I do not want that.",
  "Please stop here. It is nothing for me.",
];

export const FAREWELLS = [
  "Wonderful. Thank you for your time, {customer}, and goodbye.",
  "Then all is settled. Have a pleasant day, {customer}.",
  "I will see to it. Goodbye, {customer}.",
];

export const GOODBYES = [
  "Thank you, goodbye.",
  "Bye then.",
  "Thanks for the call. Goodbye.",
];

export const NAMES = [
  "Alex Morgan",
  "Dana Whitlock",
  "Jordan Ellis",
  "Robin Hale",
  "Sam Okafor",
  "Taylor Brandt",
  "Noor Haddad",
  "Kim Larsen",
];
