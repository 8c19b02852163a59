package telegramsim_test

import (
	"context"
	"fmt"
	"net/http"
	"net/url"

	"attache/internal/telegramsim"
)

// A bot that answers one question, seen from the person's side.
func Example() {
	sim := telegramsim.New(telegramsim.Options{})
	defer sim.Close()
	base, err := sim.Listen() // what TELEGRAM_API_URL wants
	if err != nil {
		fmt.Println(err)
		return
	}
	nova := sim.AddBot(telegramsim.User{Name: "Nova", Username: "nova_bot"})
	ana := sim.AddPerson(telegramsim.User{Name: "Ana"})
	desk := sim.AddChat(telegramsim.Chat{Kind: "forum", Title: "Desk"}, ana, nova)
	orders := desk.CreateTopic(ana, "Orders")
	question, err := desk.Send(telegramsim.Line{From: ana, Thread: orders, Text: "@nova_bot where is #17?"})
	if err != nil {
		fmt.Println(err)
		return
	}

	// The program under test would poll and answer; here the answer is made by hand.
	if _, err := http.PostForm(base+"/bot"+nova.Token+"/sendMessage", url.Values{
		"chat_id": {fmt.Sprint(int64(desk.ID))}, "message_thread_id": {fmt.Sprint(orders)},
		"text": {"On its way."}, "reply_parameters": {fmt.Sprintf(`{"message_id":%d}`, question)},
	}); err != nil {
		fmt.Println(err)
		return
	}

	if err := sim.Wait(context.Background(), func() bool { return len(desk.Posts(orders)) == 1 }); err != nil {
		fmt.Println(err)
		return
	}
	post := desk.Posts(orders)[0]
	fmt.Println(post.Text, post.ReplyTo == question, sim.Violations())
	// Output: On its way. true []
}
